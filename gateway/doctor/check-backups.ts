import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import type { BackupSettings } from '#services/backups.ts'
import { HOUR_MS, toIso } from '#shared/time.ts'
import { mountFault } from '#store/backups/mount.ts'
import { isS3Target } from '#store/backups/s3/s3-address.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { attempt, type Machine } from './machine.ts'
import type { Sandbox } from './service.ts'

const ABOUT = 'backups'
const PAGE = 'see docs/backup.md, Backup'
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
  if (settings === undefined)
    return [
      warning(
        ABOUT,
        'no nightly backups: data that is only on this machine is lost with its disk',
        'insert a USB stick, set CARTBARN_BACKUP_TO and CARTBARN_BACKUP_PASSPHRASE_FILE; or regularly: cartbarn ' +
          `backup FILE; ${PAGE}`,
      ),
    ]
  const { target, mustBeMounted } = settings
  // only a backup itself shows if an S3 store can be reached
  if (isS3Target(target)) return [judgeAge(machine, dataDir, target)]
  const fault = mountFault(target, { mustBeMounted, dataDir })
  const place = fault === null ? judgePlace(dataDir, target) : [failure(ABOUT, fault, 'lsblk')]
  return [judgeAge(machine, dataDir, target), ...place, ...judgeSandbox(dataDir, target, sandbox)]
}

function judgeAge(machine: Machine, dataDir: string, target: string): Finding {
  const noted = attempt(() => notedSchema.parse(JSON.parse(readFileSync(join(dataDir, 'backups.json'), 'utf8'))))
  const todo = `cartbarn backup ${target} shows the reason; ${PAGE}`
  if (noted === undefined || noted.target !== target)
    return warning(ABOUT, `none yet in ${target}`, 'start the gateway: it makes one every night')
  const { sinceMs, lastGoodMs } = noted
  const isOverdue = machine.nowMs() - Math.max(lastGoodMs ?? 0, sinceMs) >= OVERDUE_MS
  if (lastGoodMs === null)
    return isOverdue
      ? failure(ABOUT, `no good one in ${target} since ${toIso(sinceMs)}`, todo)
      : warning(ABOUT, `none yet in ${target}`, 'wait for the night, then check /health')
  const message = `last good one in ${target}: ${toIso(lastGoodMs)}`
  return isOverdue ? failure(ABOUT, message, todo) : ok(ABOUT, message)
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

/** Warns if the target is on the disk of the data; also for a folder that the first backup has yet to create. */
function judgePlace(dataDir: string, target: string): Finding[] {
  const place = attempt(() => statSync(target)) ?? attempt(() => statSync(dirname(target)))
  const data = attempt(() => statSync(dataDir))
  if (place === undefined || data === undefined || place.dev !== data.dev) return []
  return [
    warning(
      ABOUT,
      `${target} is on the disk of the data: a backup next to the database does not survive its loss`,
      `set CARTBARN_BACKUP_TO to a folder on another disk, such as a USB stick; ${PAGE}`,
    ),
  ]
}
