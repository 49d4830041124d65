import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { BackupSettings } from '#services/backups.ts'
import { HOUR_MS, toIso } from '#shared/time.ts'
import { isOnDiskOf, mountFault } from '#store/backups/mount.ts'
import { isS3Target } from '#store/backups/s3/s3-address.ts'
import { type Finding, failure, ok, shared } from './finding.ts'
import { attempt, type Machine } from './machine.ts'
import type { Sandbox } from './service.ts'

const ABOUT = 'backups'
/** Same limit as the backup alert. */
const OVERDUE_MS = 36 * HOUR_MS
/** Backup state that the gateway writes next to its database. */
const notedSchema = z.object({ target: z.string(), sinceMs: z.number(), lastGoodMs: z.number().nullable() })

/** Checks that nightly backups are set, the last good one is recent, and the target is not on the disk of the data. */
export function checkBackups(
  machine: Machine,
  dataDir: string,
  settings: Pick<BackupSettings, 'target' | 'mustBeMounted'> | undefined,
  sandbox?: Sandbox,
): Finding[] {
  if (settings === undefined) return [shared('backup_none')]
  const { target, mustBeMounted } = settings
  // only a backup itself shows if an S3 store can be reached
  if (isS3Target(target)) return [judgeAge(machine, dataDir, target)]
  const fault = mountFault(target, { mustBeMounted, dataDir })
  const isNear = fault === null && isOnDiskOf(dataDir, target)
  const place = [
    ...(fault === null ? [] : [failure(ABOUT, fault, 'lsblk')]),
    ...(isNear ? [shared('backup_same_disk', { target })] : []),
  ]
  return [judgeAge(machine, dataDir, target), ...place, ...judgeSandbox(dataDir, target, sandbox)]
}

function judgeAge(machine: Machine, dataDir: string, target: string): Finding {
  const noted = attempt(() => notedSchema.parse(JSON.parse(readFileSync(join(dataDir, 'backups.json'), 'utf8'))))
  if (noted === undefined || noted.target !== target) return shared('backup_first', { target })
  const { sinceMs, lastGoodMs } = noted
  const isOverdue = machine.nowMs() - Math.max(lastGoodMs ?? 0, sinceMs) >= OVERDUE_MS
  if (lastGoodMs === null)
    return isOverdue ? shared('backup_never', { target, since_at: toIso(sinceMs) }) : shared('backup_first', { target })
  const last_at = toIso(lastGoodMs)
  return isOverdue ? shared('backup_overdue', { target, last_at }) : ok(ABOUT, `last good one in ${target}: ${last_at}`)
}

/** Checks the sandbox of the service: the user who runs doctor may be able to write where the service cannot. */
function judgeSandbox(dataDir: string, target: string, sandbox: Sandbox | undefined): Finding[] {
  const path = resolve(target)
  const isBelow = (folder: string) => folder !== '' && `${path}/`.startsWith(`${resolve(folder)}/`)
  if (sandbox?.isHomeHidden && ['/home', '/root', '/run/user'].some(isBelow))
    return [failure(ABOUT, `${path} is hidden from the service`, 'set CARTBARN_BACKUP_TO to a folder elsewhere')]
  if (sandbox === undefined || !sandbox.isStrict || [dataDir, ...sandbox.writable].some(isBelow)) return []
  return [
    failure(
      ABOUT,
      `${path} is read-only for the service`,
      `sudo systemctl edit cartbarn, add the lines [Service] and ReadWritePaths=-${path}, then sudo systemctl ` +
        'restart cartbarn',
    ),
  ]
}
