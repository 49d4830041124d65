import { existsSync, mkdirSync, rmdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '#shared/errors.ts'
import { giveToOwner } from '#shared/files/owner.ts'
import { createLog } from '#shared/log.ts'
import type { BackupManifest } from '#shared/wire/backups.ts'
import { BackupFault, inWords } from '#store/backups/backup-fault.ts'
import { BackupSet } from '#store/backups/backup-set.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import { type Connection, openReader } from '#store/db/connection.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { databasePath } from '#store/db/files.ts'
import { forkEpoch } from '#store/ledger/cursors.ts'
import { knownSchema, migrate } from '#store/migrate.ts'
import { PageSums } from '#store/pages/page-sums.ts'
import { type CarriedOver, carryOver } from '#store/replace/carry-over.ts'
import { fillDatabase } from '#store/replace/fill-database.ts'
import { openForFilling } from '#store/replace/open-for-filling.ts'
import {
  copyLog,
  finishReplacement,
  linkOrCopy,
  moveDatabase,
  replaceDatabase,
  syncDatabase,
} from '#store/replace/replace-database.ts'
import { whatIsNewer } from '#store/replace/what-is-newer.ts'
import { prepareDataFolder } from '#store/store.ts'
import { forgetMachine } from '#store/tables/machine.ts'
import { type AuthorityRestored, restoreAuthority } from './backup-authority.ts'

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
  readonly carriedOver: CarriedOver | null
  /** Tables of the backup that this program does not know: their rows were not restored. */
  readonly leftOut: readonly string[]
  readonly authority: AuthorityRestored
}

/** What a restore works on; what another one left is of no use. */
const WORK = 'restore-unfinished'
const RESTORED = 'cartbarn-restored.db'
/** Indexes and pages that are not full. */
const SPACE_RATIO = 1.4

/**
 * Makes the database of a backup and puts it into the place of the one in the folder, which is kept beside it. It begins a
 * new epoch of the replication, and keeps what was revoked since as far as the old one says it. Killed at any moment, the
 * old or the new one is in place once a gateway is started. What root makes is the owner's of the folder. Throws a
 * `BackupFault` in words; nothing is changed then.
 */
export async function restoreBackup(order: Restore): Promise<Restored> {
  const { dataDir, from } = order
  prepareDataFolder(dataDir)
  const lock = new DataLock(dataDir)
  lock.take()
  const work = join(dataDir, WORK)
  try {
    await from.open()
    const { set, manifest } = await chooseBackup(order)
    // of a replacement that was killed
    finishReplacement(dataDir)
    rmSync(work, { recursive: true, force: true })
    mkdirSync(work, { mode: 0o700 })
    // killed, it leaves nothing that the service or the next one cannot remove
    giveToOwner(dataDir)
    return await restoreLocked(order, set, manifest, work)
  } catch (error) {
    throw inWords(error, dataDir)
  } finally {
    await from.close()
    rmSync(work, { recursive: true, force: true })
    lock.release()
    giveToOwner(dataDir)
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
  const old = openOld(dataDir, work)
  try {
    const lost = lostWith(old, manifest)
    if (lost.length > 0 && !isForced)
      throw new BackupFault(
        `the database in ${dataDir} has what the backup of ${isoOf(manifest.atMs)} lacks: ${lost.join(', ')}; --force replaces it all the same, and keeps it in a folder beside`,
      )
    const path = join(work, RESTORED)
    const { carriedOver, leftOut } = await makeDatabase(
      order,
      set,
      manifest,
      path,
      'connection' in old ? old.connection : null,
    )
    const keptIn = join(dataDir, `replaced-${isoOf(atMs).replace(/[:.]/g, '-')}`)
    const ready = join(dataDir, RESTORED)
    for (const suffix of ['', '-wal', '-shm']) rmSync(ready + suffix, { force: true })
    moveDatabase(path, ready)
    closeOld(old)
    const authority = restoreAuthority(dataDir, manifest.authority, () =>
      replaceDatabase(dataDir, ready, keptIn),
    )
    return {
      manifest,
      keptIn: old.kind === 'none' ? removeEmpty(keptIn) : keptIn,
      lost,
      carriedOver,
      leftOut,
      authority,
    }
  } finally {
    closeOld(old)
  }
}

async function makeDatabase(
  { onPart = () => undefined }: Restore,
  set: BackupSet,
  manifest: BackupManifest,
  path: string,
  newer: Connection | null,
): Promise<Pick<Restored, 'carriedOver' | 'leftOut'>> {
  const sums = new PageSums(path, createLog('silent'))
  sums.prepare()
  const to = openForFilling(path)
  try {
    const leftOut = await fillDatabase(to, set, manifest, onPart)
    migrate(to)
    const carriedOver = newer === null ? null : carryOver(to, newer, manifest.atMs)
    // whoever restores says by that where the course goes on
    forgetMachine(to)
    forkEpoch(to, { reason: `restored from the backup of ${isoOf(manifest.atMs)}` })
    return { carriedOver, leftOut }
  } finally {
    to.close()
    // while it is made they are noted as it is written
    sums.closed()
    if (existsSync(path)) syncDatabase(path)
  }
}

type Old = { kind: 'none' } | { kind: 'unreadable'; fault: string } | { kind: 'open'; connection: Connection }

/** Under a second name: SQLite makes its own files beside that, and nothing of the old one is changed. */
function openOld(dataDir: string, work: string): Old {
  if (!existsSync(databasePath(dataDir))) return { kind: 'none' }
  const path = join(work, 'old.db')
  try {
    linkOrCopy(databasePath(dataDir), path)
    copyLog(dataDir, path)
    const connection = openReader(path)
    try {
      connection.all('SELECT name FROM sqlite_schema')
      return { kind: 'open', connection }
    } catch (error) {
      connection.close()
      throw error
    }
  } catch (error) {
    return { kind: 'unreadable', fault: describeError(error) }
  }
}

function closeOld(old: Old): void {
  if (old.kind === 'open') old.connection.close()
}

function lostWith(old: Old, manifest: BackupManifest): string[] {
  if (old.kind === 'none') return []
  if (old.kind === 'unreadable') return [`what nobody can tell, as it cannot be read (${old.fault})`]
  try {
    return whatIsNewer(old.connection, manifest)
  } catch (error) {
    return [`what nobody can tell, as it cannot be read (${describeError(error)})`]
  }
}

function requireSpace(dataDir: string, { tables }: BackupManifest): void {
  const neededBytes = Math.ceil(tables.reduce((sum, { bytes }) => sum + bytes, 0) * SPACE_RATIO)
  const { bavail, bsize } = statfsSync(dataDir)
  if (bavail * bsize < neededBytes)
    throw new BackupFault(
      `not enough space in ${dataDir}: the database of the backup needs ${megabytes(neededBytes)}, and ${megabytes(bavail * bsize)} are free`,
    )
}

function removeEmpty(folder: string): null {
  rmdirSync(folder)
  return null
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString()
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`
}
