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

/** What a backup is asked for with. */
export interface BackUp {
  readonly dataDir: string
  /** A file to be made, in the place of one that may be there; or another place. */
  readonly to: string | BackupPlace
  readonly passphrase?: string | undefined
  readonly atMs: number
  /** So many backups stay in a place of several; all unless told. */
  readonly keep?: number | undefined
  /** Rests as long as it worked, again and again: a gateway is at work on the same disk. */
  readonly isGentle?: boolean
  /** What is known of the place; a command knows nothing. */
  readonly memory?: SetMemory
}

/**
 * Backs up the database of a data folder, whether a gateway is at work in it or not, then reads and counts what was
 * written. Killed at any moment, the file or folder of backups is as before or has one more, whole. Throws an `Error`
 * in words.
 */
export async function backUp(order: BackUp): Promise<BackupMade> {
  const { dataDir, to, passphrase, atMs, keep, isGentle = false, memory } = order
  const path = requireDatabase(dataDir)
  const authority = usableAuthority(dataDir)
  const isUnusable = authority === undefined && existsSync(new AuthorityFolder(dataDir).authorityPath)
  const lacks = [...NOT_IN_A_BACKUP, ...(isUnusable ? ['tls/authority.pem, which cannot be used'] : [])]
  const place = typeof to === 'string' ? FilePlace.toWrite(to) : to
  // of two at once one could delete what the other is about to need
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
    // as root: the next backup is that of the service
    changeOwner(dataDir)
  }
}
