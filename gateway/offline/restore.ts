import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '#shared/errors.ts'
import { freeBytesIn, megabytes } from '#shared/files/free-space.ts'
import type { BackupManifest } from '#shared/wire/backups.ts'
import { BackupFault, inWords } from '#store/backups/backup-fault.ts'
import { BackupSet } from '#store/backups/backup-set.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import type { Connection } from '#store/db/connection.ts'
import { databasePath } from '#store/db/files.ts'
import { forkEpoch } from '#store/ledger/cursors.ts'
import { knownSchema, migrate } from '#store/migrate.ts'
import { applyCarryOver, type RestoreCarryOver } from '#store/replace/carry-over.ts'
import { changesSinceBackup } from '#store/replace/changes-since-backup.ts'
import { fillDatabase } from '#store/replace/fill-database.ts'
import { NewDatabase } from '#store/replace/new-database.ts'
import { linkOld, openOld } from '#store/replace/old-database.ts'
import { keptFolder, RESTORE_WORK, replaceDatabase } from '#store/replace/replace-database.ts'
import { prepareDataFolder } from '#store/store.ts'
import { forgetMachine } from '#store/tables/machine.ts'
import { type AuthorityRestored, restoreAuthority } from './backup-authority.ts'
import { StoppedFolder } from './stopped-folder.ts'

export interface Restore {
  readonly dataDir: string
  readonly from: BackupPlace
  readonly passphrase?: string | undefined
  /** Number of one of several backups; default: the newest. */
  readonly number?: number | undefined
  readonly atMs: number
  /** Restores even if the current database has data that the backup lacks. */
  readonly isForced?: boolean
  readonly onPart?: (done: number, all: number) => void
}

export interface Restored {
  readonly manifest: BackupManifest
  /** Folder with the previous database; null if there was none. */
  readonly keptIn: string | null
  /** Data of the previous database that the backup lacks. */
  readonly lost: readonly string[]
  /** Null if there was no readable database before. */
  readonly carriedOver: RestoreCarryOver | null
  /** Tables of the backup that this program does not know; their rows were not restored. */
  readonly leftOut: readonly string[]
  readonly authority: AuthorityRestored
}

/** Allowance for indexes and partly filled pages. */
const SPACE_RATIO = 1.4

/**
 * Creates the database of a backup and replaces the one in the folder, which is kept next to it. The new database
 * begins a new epoch of the replication and keeps later revocations, as far as the old one can be read. If it is killed
 * at any moment, the next start of a gateway finds the old or the new database in place. Files that root creates get
 * the ownership of the folder. Throws a `BackupFault` with a readable message; nothing is changed then.
 */
export async function restoreBackup(order: Restore): Promise<Restored> {
  const { dataDir, from } = order
  prepareDataFolder(dataDir)
  const folder = new StoppedFolder(dataDir, RESTORE_WORK)
  try {
    folder.take()
    await from.open()
    const { set, manifest } = await chooseBackup(order)
    folder.makeWork()
    return await restoreLocked(order, set, manifest, folder.work)
  } catch (error) {
    throw inWords(error, dataDir)
  } finally {
    await from.close()
    folder.release()
  }
}

async function chooseBackup({ from, passphrase, number }: Restore) {
  const set = await BackupSet.open(from, passphrase)
  const all = await set.snapshots()
  const chosen = number === undefined ? all.at(-1) : all.find((one) => one.number === number)
  if (chosen === undefined)
    throw new BackupFault(
      number === undefined
        ? `${from.shown} has no backup that was finished`
        : `${from.shown} has no backup ${number}; it has ${all.map((one) => one.number).join(', ')}`,
    )
  const manifest = await set.readManifest(chosen)
  if (manifest.schema > knownSchema())
    throw new BackupFault(
      `the backup was made by ${manifest.program} (schema ${manifest.schema}), which is newer than this program ` +
        `(schema ${knownSchema()}): install that version first`,
    )
  return { set, manifest }
}

async function restoreLocked(
  order: Restore,
  set: BackupSet,
  manifest: BackupManifest,
  work: string,
): Promise<Restored> {
  const { dataDir, isForced = false, atMs } = order
  requireSpace(dataDir, manifest)
  const { old, lost } = readOld(dataDir, work, manifest)
  try {
    if (lost.length > 0 && !isForced)
      throw new BackupFault(
        `the database in ${dataDir} has data that the backup of ${isoOf(manifest.atMs)} lacks: ` +
          `${lost.join(', ')}; --force replaces it anyway, and keeps it in a separate folder`,
      )
    const path = join(work, 'restored.db')
    const { carriedOver, leftOut } = await makeDatabase(order, set, manifest, path, old)
    old?.close()
    const kept = keptFolder(dataDir, 'replaced', atMs)
    const authority = restoreAuthority(dataDir, manifest.authority, () => replaceDatabase(dataDir, path, kept))
    const keptIn = existsSync(kept) ? kept : null
    return { manifest, keptIn, lost, carriedOver, leftOut, authority }
  } finally {
    old?.close()
  }
}

async function makeDatabase(
  { onPart = () => undefined }: Restore,
  set: BackupSet,
  manifest: BackupManifest,
  path: string,
  newer: Connection | null,
): Promise<Pick<Restored, 'carriedOver' | 'leftOut'>> {
  const restored = new NewDatabase(path)
  const to = restored.tables
  try {
    const leftOut = await fillDatabase(to, set, manifest, onPart)
    migrate(to)
    const carriedOver = newer === null ? null : applyCarryOver(to, newer, manifest.atMs)
    // a restore decides on which machine the course continues
    forgetMachine(to)
    forkEpoch(to, { reason: `restored from the backup of ${isoOf(manifest.atMs)}` })
    return { carriedOver, leftOut }
  } finally {
    restored.close()
  }
}

/** Opens the current database, null without a readable one, and lists its data that the backup lacks. */
function readOld(dataDir: string, work: string, manifest: BackupManifest): { old: Connection | null; lost: string[] } {
  if (!existsSync(databasePath(dataDir))) return { old: null, lost: [] }
  let old: Connection | null = null
  try {
    old = openOld(linkOld(dataDir, work))
    return { old, lost: changesSinceBackup(old, manifest) }
  } catch (error) {
    return { old, lost: [`unknown data, because it cannot be read (${describeError(error)})`] }
  }
}

function requireSpace(dataDir: string, { tables }: BackupManifest): void {
  const neededBytes = Math.ceil(tables.reduce((sum, { bytes }) => sum + bytes, 0) * SPACE_RATIO)
  const freeBytes = freeBytesIn(dataDir)
  if (freeBytes < neededBytes)
    throw new BackupFault(
      `not enough space in ${dataDir}: the database of the backup needs ${megabytes(neededBytes)}, and ` +
        `${megabytes(freeBytes)} are free`,
    )
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString()
}
