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
import { keptFolder, replaceDatabase } from '#store/replace/replace-database.ts'
import { prepareDataFolder } from '#store/store.ts'
import { forgetMachine } from '#store/tables/machine.ts'
import { type AuthorityRestored, restoreAuthority } from './backup-authority.ts'
import { StoppedFolder } from './stopped-folder.ts'

/** What a restore is asked for with. */
export interface Restore {
  readonly dataDir: string
  readonly from: BackupPlace
  readonly passphrase?: string | undefined
  /** The number of one of several backups; the newest unless told. */
  readonly number?: number | undefined
  readonly atMs: number
  /** Also when the database that is there has what the backup lacks. */
  readonly isForced?: boolean
  readonly onPart?: (done: number, all: number) => void
}

/** What a restore came to. */
export interface Restored {
  readonly manifest: BackupManifest
  /** The folder with the database that was there; null when there was none. */
  readonly keptIn: string | null
  /** What that one had and the backup lacks. */
  readonly lost: readonly string[]
  /** Null when no database was there, or it could not be read. */
  readonly carriedOver: RestoreCarryOver | null
  /** Tables of the backup that this program does not know: their rows were not restored. */
  readonly leftOut: readonly string[]
  readonly authority: AuthorityRestored
}

/** What a restore works on; what another one left is of no use. */
const WORK = 'restore-unfinished'
/** Indexes and pages that are not full. */
const SPACE_RATIO = 1.4

/**
 * Makes the database of a backup and puts it into the place of the one in the folder, which is kept beside it. It
 * begins a new epoch of the replication, and keeps what was revoked since as far as the old one says it. Killed at any
 * moment, the old or the new one is in place once a gateway is started. What root makes is the owner's of the folder.
 * Throws a `BackupFault` in words; nothing is changed then.
 */
export async function restoreBackup(order: Restore): Promise<Restored> {
  const { dataDir, from } = order
  prepareDataFolder(dataDir)
  const folder = new StoppedFolder(dataDir, WORK)
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
      `the backup was made by ${manifest.program} (schema ${manifest.schema}), which is newer than this program (schema ${knownSchema()}): install that version first`,
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
        `the database in ${dataDir} has what the backup of ${isoOf(manifest.atMs)} lacks: ${lost.join(', ')}; --force replaces it all the same, and keeps it in a folder beside`,
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
    // whoever restores says by that where the course goes on
    forgetMachine(to)
    forkEpoch(to, { reason: `restored from the backup of ${isoOf(manifest.atMs)}` })
    return { carriedOver, leftOut }
  } finally {
    restored.close()
  }
}

/** The database that is there, null when there is none that can be read, and what it has that the backup lacks. */
function readOld(dataDir: string, work: string, manifest: BackupManifest): { old: Connection | null; lost: string[] } {
  if (!existsSync(databasePath(dataDir))) return { old: null, lost: [] }
  let old: Connection | null = null
  try {
    old = openOld(linkOld(dataDir, work))
    return { old, lost: changesSinceBackup(old, manifest) }
  } catch (error) {
    return { old, lost: [`what nobody can tell, as it cannot be read (${describeError(error)})`] }
  }
}

function requireSpace(dataDir: string, { tables }: BackupManifest): void {
  const neededBytes = Math.ceil(tables.reduce((sum, { bytes }) => sum + bytes, 0) * SPACE_RATIO)
  const freeBytes = freeBytesIn(dataDir)
  if (freeBytes < neededBytes)
    throw new BackupFault(
      `not enough space in ${dataDir}: the database of the backup needs ${megabytes(neededBytes)}, and ${megabytes(freeBytes)} are free`,
    )
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString()
}
