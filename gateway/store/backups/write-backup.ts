import type { BackupManifest, BackupTable } from '#shared/wire/backups.ts'
import { type Connection, openReader, openUncheckedReader, stopChecking } from '../db/connection.ts'
import { NO_AUTHORITY } from './backup-exclusions.ts'
import { BackupFault } from './backup-fault.ts'
import { BackupSet, type SetMemory, type Snapshot } from './backup-set.ts'
import { checkBackup } from './check-backup.ts'
import { databaseMarks, firstUsers, schemaStatements } from './database-marks.ts'
import type { BackupPlace } from './place.ts'
import { type KeptBackup, pruneBackups } from './prune-backups.ts'
import type { StoredValue } from './row-codec.ts'
import { type Chunk, chunksOf, inChunks, isTelemetry, tableShapes } from './table-chunks.ts'

export interface BackupOrder {
  readonly databasePath: string
  readonly place: BackupPlace
  readonly passphrase: string | undefined
  readonly atMs: number
  readonly program: string
  /** Things that the backup does not contain, as texts for people. */
  readonly lacks: readonly string[]
  /** Authority of the gateway, in PEM: for encrypted backups only. */
  readonly authority: string | undefined
  /** Number of backups to keep; undefined for all. */
  readonly keep: number | undefined
  readonly memory?: SetMemory | undefined
  /** Called after each chunk with its duration; the next chunk begins when it resolves. */
  readonly rest: (tookMs: number) => Promise<void>
}

export interface BackupMade {
  readonly name: string
  readonly number: number
  readonly atMs: number
  readonly rows: number
  /** Bytes written for this backup; `totalBytes` are those of all its chunks. */
  readonly newBytes: number
  readonly totalBytes: number
  readonly isEncrypted: boolean
  readonly lacks: readonly string[]
  /** Number of older backups that were deleted. */
  readonly removed: number
  /** Remaining backups, oldest first; empty unless their number is limited. */
  readonly stay: readonly KeptBackup[]
}

const BLOCKS = 'telemetry_block'
const BLOCKS_AT_ONCE = 32

/**
 * Writes a backup of the database at one moment, while others may write to it. Writes only chunks that the target does
 * not have, then reads what was written again and counts the rows. Throws `BackupFault`, or the errors of the disk.
 */
export async function writeBackup(order: BackupOrder): Promise<BackupMade> {
  const { place, passphrase, keep } = order
  try {
    await place.open()
    const set = await BackupSet.openOrBegin(place, passphrase, order.memory)
    const writer = new PartWriter(set, await set.blobs(), order.rest)
    const before = await set.snapshots()
    await requireOwnSet(set, before.at(-1), order.databasePath)
    if (writer.isEmpty || place.isRemote) await writeBlocksAhead(order.databasePath, writer)
    const connection = openReader(order.databasePath)
    let manifest: BackupManifest
    try {
      manifest = await writeTables(connection, writer, order, (before.at(-1)?.number ?? 0) + 1)
    } finally {
      connection.close()
    }
    await requireAlone(set, before.at(-1))
    const snapshot = await set.writeManifest(manifest)
    await checkWritten(set, snapshot, manifest, writer, order)
    await place.finish()
    const { stay, removed } =
      keep === undefined ? { stay: [], removed: 0 } : await pruneBackups(set, keep, (tables) => writer.bytesOf(tables))
    return {
      name: snapshot.name,
      number: manifest.number,
      atMs: manifest.atMs,
      rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
      newBytes: writer.newBytes,
      totalBytes: writer.bytesOf(manifest.tables),
      isEncrypted: set.cipher.isEncrypted,
      lacks: manifest.lacks,
      stay,
      removed,
    }
  } finally {
    await place.close()
  }
}

/** Throws `BackupFault` if the newest backup belongs to another gateway: both would count and delete them. */
async function requireOwnSet(set: BackupSet, newest: Snapshot | undefined, databasePath: string): Promise<void> {
  if (newest === undefined) return
  // an unreadable manifest is reported when it is read
  const theirs = (await set.readManifest(newest).catch(() => undefined))?.users
  if (theirs === undefined || theirs.length === 0) return
  const connection = openReader(databasePath)
  try {
    if (firstUsers(connection).some((id) => theirs.includes(id))) return
  } finally {
    connection.close()
  }
  throw new BackupFault(
    `${set.place.shown} has the backups of another gateway: use a separate folder for each; nothing was written`,
  )
}

/** Throws `BackupFault` if another gateway wrote meanwhile: two that begin together both find the target empty. */
async function requireAlone(set: BackupSet, newest: Snapshot | undefined): Promise<void> {
  if ((await set.isStillThere()) && (await set.snapshots()).at(-1)?.name === newest?.name) return
  throw new BackupFault(
    `${set.place.shown} was changed by another gateway or program in the meantime: use a separate folder for each`,
  )
}

/** Checks the written backup, and removes its manifest if the check fails. */
async function checkWritten(
  set: BackupSet,
  snapshot: Snapshot,
  manifest: BackupManifest,
  writer: PartWriter,
  { rest }: BackupOrder,
): Promise<void> {
  try {
    await checkBackup(set, snapshot, {
      rest,
      isDue: (id) => writer.isNew(id) || isTurnOf(id, manifest.number),
    })
  } catch (error) {
    await set.place.remove(snapshot.name).catch(() => undefined)
    throw error
  }
}

/** Selects a seventh of the existing chunks to be read again: with one backup a day, each is read once a week. */
function isTurnOf(id: string, number: number): boolean {
  return Number.parseInt(id.slice(0, 6), 16) % 7 === number % 7
}

/** Writes blocks, which never change, before the snapshot: it keeps the log from being emptied; targets may be slow. */
async function writeBlocksAhead(databasePath: string, writer: PartWriter): Promise<void> {
  const connection = openUncheckedReader(databasePath)
  try {
    await writer.writeAll(inChunks(blocksOf(connection)))
  } finally {
    connection.close()
  }
}

/** Reads blocks in slices, so that no snapshot is held for long. */
function* blocksOf(connection: Connection): Generator<StoredValue[]> {
  const shape = tableShapes(connection).find(({ name }) => name === BLOCKS)
  if (shape === undefined)
    throw new BackupFault('this is not a database of a gateway, or it is too old: start the gateway once before')
  const { columns } = shape
  const keyAt = columns.indexOf('block_id')
  const statement = connection.db
    .prepare<[bigint], StoredValue[]>(
      `SELECT ${columns.join(', ')} FROM ${BLOCKS} WHERE block_id > ? ORDER BY block_id LIMIT ${BLOCKS_AT_ONCE}`,
    )
    .safeIntegers()
    .raw()
  for (let after = 0n; ; ) {
    const some = statement.all(after)
    yield* some
    const last = some.at(-1)?.[keyAt]
    if (typeof last !== 'bigint') return
    after = last
  }
}

async function writeTables(
  connection: Connection,
  writer: PartWriter,
  { atMs, program, lacks, authority }: BackupOrder,
  number: number,
): Promise<BackupManifest> {
  connection.run('BEGIN')
  try {
    const marks = databaseMarks(connection)
    const users = firstUsers(connection)
    const statements = schemaStatements(connection)
    const tables: BackupTable[] = []
    let isChecking = true
    for (const shape of tableShapes(connection)) {
      if (isChecking && isTelemetry(shape.name)) {
        stopChecking(connection.db)
        isChecking = false
      }
      const written = await writer.writeAll(chunksOf(connection, shape))
      tables.push({ name: shape.name, columns: [...shape.columns], ...written })
    }
    return {
      number,
      atMs,
      program,
      ...marks,
      users,
      statements,
      tables,
      ...withAuthority(authority, writer.isEncrypted, lacks),
    }
  } finally {
    if (connection.db.inTransaction) connection.run('ROLLBACK')
  }
}

/** Adds the authority to encrypted backups only: its private key must not be readable by others. */
function withAuthority(
  authority: string | undefined,
  isEncrypted: boolean,
  lacks: readonly string[],
): Pick<BackupManifest, 'authority' | 'lacks'> {
  if (authority === undefined) return { lacks: [...lacks] }
  return isEncrypted ? { authority, lacks: [...lacks] } : { lacks: [...lacks, NO_AUTHORITY] }
}

/** Writes chunks that the target does not have yet. */
class PartWriter {
  newBytes = 0
  readonly #set: BackupSet
  readonly #known: Map<string, number>
  readonly #written = new Set<string>()
  readonly #rest: BackupOrder['rest']

  constructor(set: BackupSet, known: Map<string, number>, rest: BackupOrder['rest']) {
    this.#set = set
    this.#known = known
    this.#rest = rest
  }

  get isEncrypted(): boolean {
    return this.#set.cipher.isEncrypted
  }

  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  isNew(id: string): boolean {
    return this.#written.has(id)
  }

  bytesOf(tables: readonly BackupTable[]): number {
    const ids = new Set(tables.flatMap(({ chunks }) => chunks.map(({ id }) => id)))
    return [...ids].reduce((sum, id) => sum + (this.#known.get(id) ?? 0), 0)
  }

  async writeAll(all: Iterable<Chunk>): Promise<Pick<BackupTable, 'rows' | 'bytes' | 'chunks'>> {
    const written = { rows: 0, bytes: 0, chunks: [] as BackupTable['chunks'][number][] }
    let beganMs = performance.now()
    for (const { rows, bytes } of all) {
      const id = this.#set.cipher.idOf(bytes)
      written.chunks.push({ id, rows })
      written.rows += rows
      written.bytes += bytes.length
      if (!this.#known.has(id)) {
        const sealedBytes = await this.#set.writeBlob(id, bytes)
        this.#known.set(id, sealedBytes)
        this.#written.add(id)
        this.newBytes += sealedBytes
      }
      await this.#rest(performance.now() - beganMs)
      beganMs = performance.now()
    }
    return written
  }
}
