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

/** What is to be written, and where. */
export interface BackupOrder {
  readonly databasePath: string
  readonly place: BackupPlace
  readonly passphrase: string | undefined
  readonly atMs: number
  readonly program: string
  /** In words, for people: what is not in it. */
  readonly lacks: readonly string[]
  /** The authority of the gateway, in PEM: for encrypted backups only. */
  readonly authority: string | undefined
  /** So many backups stay; undefined for all. */
  readonly keep: number | undefined
  readonly memory?: SetMemory | undefined
  /** Called after each part with how long it took: resolves when the next may begin. */
  readonly rest: (tookMs: number) => Promise<void>
}

/** What a backup came to. */
export interface BackupMade {
  readonly name: string
  readonly number: number
  readonly atMs: number
  readonly rows: number
  /** Bytes that were written for it, and that all its parts take. */
  readonly newBytes: number
  readonly totalBytes: number
  readonly isEncrypted: boolean
  readonly lacks: readonly string[]
  /** Backups that were deleted because of it. */
  readonly removed: number
  /** Those that are there now, the oldest first; empty unless only so many are kept. */
  readonly stay: readonly KeptBackup[]
}

const BLOCKS = 'telemetry_block'
const BLOCKS_AT_ONCE = 32

/**
 * Writes a backup of the database, which others may be writing: the state of one moment. Only parts that the place does
 * not have are written; then what was written is read again and counted. Throws `BackupFault`, or what the disk throws.
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

/** Two gateways would count and delete each other's backups. Throws `BackupFault` when the newest one is another's. */
async function requireOwnSet(set: BackupSet, newest: Snapshot | undefined, databasePath: string): Promise<void> {
  if (newest === undefined) return
  // one that cannot be read is told by who reads it
  const theirs = (await set.readManifest(newest).catch(() => undefined))?.users
  if (theirs === undefined || theirs.length === 0) return
  const connection = openReader(databasePath)
  try {
    if (firstUsers(connection).some((id) => theirs.includes(id))) return
  } finally {
    connection.close()
  }
  throw new BackupFault(
    `${set.place.shown} has the backups of another gateway: each needs a folder of its own; nothing was written`,
  )
}

/**
 * Two that begin at the same moment have both found an empty place. Throws `BackupFault` when another wrote meanwhile.
 */
async function requireAlone(set: BackupSet, newest: Snapshot | undefined): Promise<void> {
  if ((await set.isStillThere()) && (await set.snapshots()).at(-1)?.name === newest?.name) return
  throw new BackupFault(
    `${set.place.shown} was written by another gateway or program meanwhile: each gateway needs a place of its own`,
  )
}

/** A backup that is not what was written must not be taken for one. */
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

/** Of the parts that were there, a seventh is read again each time: with one backup a day all of them in a week. */
function isTurnOf(id: string, number: number): boolean {
  return Number.parseInt(id.slice(0, 6), 16) % 7 === number % 7
}

/**
 * Blocks never change once they are there, so they can be written before the moment of the backup: what holds that
 * moment keeps the write-ahead log from being emptied, and the place may be slow.
 */
async function writeBlocksAhead(databasePath: string, writer: PartWriter): Promise<void> {
  const connection = openUncheckedReader(databasePath)
  try {
    await writer.writeAll(inChunks(blocksOf(connection)))
  } finally {
    connection.close()
  }
}

/** In slices: none of them holds a moment for long. */
function* blocksOf(connection: Connection): Generator<StoredValue[]> {
  const shape = tableShapes(connection).find(({ name }) => name === BLOCKS)
  if (shape === undefined)
    throw new BackupFault('this is no database of a gateway, or one so old that the gateway must run once before')
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

/** Its private key must not lie where others can read it. */
function withAuthority(
  authority: string | undefined,
  isEncrypted: boolean,
  lacks: readonly string[],
): Pick<BackupManifest, 'authority' | 'lacks'> {
  if (authority === undefined) return { lacks: [...lacks] }
  return isEncrypted ? { authority, lacks: [...lacks] } : { lacks: [...lacks, NO_AUTHORITY] }
}

/** Writes parts that the place does not have yet. */
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
