import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { changeOwner } from '#shared/files/owner.ts'
import { readVersion } from '#shared/version.ts'
import { NOT_IN_A_BACKUP } from '#store/backups/backup-exclusions.ts'
import { inWords } from '#store/backups/backup-fault.ts'
import type { SetMemory } from '#store/backups/backup-set.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import { type BackupMade, writeBackup } from '#store/backups/write-backup.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { requireWholeCopy } from '#store/db/open-marker.ts'
import { usableAuthority } from './backup-authority.ts'
import { requireDatabase } from './stopped-folder.ts'

export interface BackUp {
  readonly dataDir: string
  /** File to create or replace, or another target. */
  readonly to: string | BackupPlace
  readonly passphrase?: string | undefined
  readonly atMs: number
  /** Number of backups to keep in a target that holds several; default: all. */
  readonly keep?: number | undefined
  /** Pauses for as long as it has worked, repeatedly, because a gateway uses the same disk. */
  readonly isGentle?: boolean
  /** Known state of the target; a command has none. */
  readonly memory?: SetMemory
}

/**
 * Backs up the database of a data folder, with or without a running gateway, then reads and counts what was written. If
 * it is killed at any moment, the file or folder of backups is unchanged or has one more complete backup. Throws an
 * `Error` with a readable message.
 */
export async function backUp(order: BackUp): Promise<BackupMade> {
  const { dataDir, to, passphrase, atMs, keep, isGentle = false, memory } = order
  const path = requireDatabase(dataDir)
  const authority = usableAuthority(dataDir)
  const isUnusable = authority === undefined && existsSync(new AuthorityFolder(dataDir).authorityPath)
  const lacks = [...NOT_IN_A_BACKUP, ...(isUnusable ? ['tls/authority.pem, which cannot be used'] : [])]
  const place = typeof to === 'string' ? FilePlace.toWrite(to) : to
  // of two concurrent backups one could delete data that the other is about to need
  const lock = new DataLock(dataDir, 'backup.lock', 'another backup is being made')
  try {
    lock.take()
    requireWholeCopy(path)
    return await writeBackup({
      databasePath: path,
      place,
      passphrase,
      atMs,
      keep,
      memory,
      program: readVersion(),
      lacks,
      authority,
      rest: async (tookMs) => {
        if (isGentle) await sleep(Math.min(tookMs, 1_000))
      },
    })
  } catch (error) {
    throw inWords(error, place.shown)
  } finally {
    lock.release()
    // run as root, it must leave files that the next backup of the service can use
    changeOwner(dataDir)
  }
}
