import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite, type PGliteOptions, type Transaction } from '@electric-sql/pglite'
import { preparePrivateFolder, restrictToOwner } from '#shared/files/private-files.ts'
import { isExecutable, readProgramFile } from '#shared/program-files.ts'
import type { Database, Sql, SqlValue } from './database.ts'
import { asAppError, withRetries } from './faults.ts'
import { FolderLock } from './folder-lock.ts'
import { createSchema } from './schema.ts'

const FILES = ['hub.lock', 'hub.sock', 'postgres', 'admin-key.txt'] as const
// Node has it; its types are only in those of browsers
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> }

const PARTS = 'node_modules/@electric-sql/pglite/dist'
const INT8 = 20
const NUMERIC = 1700
/** Timers cannot wait longer than 24 days; this one does nothing when it fires. */
const HANDLE_MS = 2_000_000_000
const PARSERS = { [INT8]: Number, [NUMERIC]: Number }

/** PostgreSQL inside this process, in a folder, or in memory without one: one connection, one transaction at a time. */
export class PgliteDatabase implements Database {
  readonly #folder: string | undefined
  readonly #template: Blob | undefined
  readonly #name: string
  readonly #lock: FolderLock | undefined
  #db: PGlite | undefined
  #handle: NodeJS.Timeout | undefined

  /** `template` is the content of a new database; an empty one takes seconds to create. */
  constructor(folder?: string, template?: Blob, name = 'postgres') {
    this.#folder = folder
    this.#name = name
    this.#template = template
    this.#lock = folder === undefined ? undefined : new FolderLock(folder)
  }

  /** Throws `FolderInUseError` if another process uses the folder. */
  async start(): Promise<void> {
    if (this.#db !== undefined) return
    if (this.#folder !== undefined) preparePrivateFolder(this.#folder, FILES)
    this.#lock?.take()
    if (this.#folder !== undefined) finishRestore(this.#folder)
    // WASM holds no handle: without one Node waits for V8's threads in a way that can hang (nodejs/node#54918)
    this.#handle ??= setInterval(() => undefined, HANDLE_MS)
    const dataDir = this.#folder === undefined ? 'memory://' : join(this.#folder, this.#name)
    const template = this.#template === undefined ? {} : { loadDataDir: this.#template }
    this.#db = await PGlite.create({ dataDir, parsers: PARSERS, ...template, ...(await ownParts()) })
    // PGlite unpacks a new database with its own permissions
    if (this.#folder !== undefined) restrictToOwner(dataDir)
    await createSchema(this)
  }

  async stop(): Promise<void> {
    const db = this.#db
    this.#db = undefined
    try {
      await db?.close()
    } finally {
      this.#lock?.release()
      clearInterval(this.#handle)
      this.#handle = undefined
    }
  }

  all<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return sqlOf(this.#running()).all<Row>(text, values)
  }

  get<Row>(text: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return sqlOf(this.#running()).get<Row>(text, values)
  }

  run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return sqlOf(this.#running()).run(text, values)
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return withRetries(() => this.#running().transaction((transaction) => work(sqlOf(transaction))))
  }

  async requireWritable(): Promise<void> {
    await this.get('SELECT 1 AS one')
  }

  /** Returns the whole database as one archive, in the format of `template`; other requests wait meanwhile. */
  async dump(): Promise<Blob> {
    const db = this.#running()
    await db.query('CHECKPOINT')
    return db.transaction(() => db.dumpDataDir('gzip'))
  }

  /** Returns the rows of a table in PostgreSQL's format for files. */
  async copyOut(table: string, columns: readonly string[]): Promise<Blob> {
    const { blob } = await this.#running().query(
      `COPY public.${table} (${columns.join(', ')}) TO '/dev/blob' (FORMAT binary)`,
    )
    if (blob === undefined) throw new Error(`the rows of ${table} cannot be read`)
    return blob
  }

  /** Adds rows read by `copyOut`. */
  async copyIn(table: string, columns: readonly string[], blob: Blob): Promise<void> {
    await this.#running().query(`COPY public.${table} (${columns.join(', ')}) FROM '/dev/blob' (FORMAT binary)`, [], {
      blob,
    })
  }

  #running(): PGlite {
    if (this.#db === undefined) throw new Error('the database is not running')
    return this.#db
  }
}

/** In an executable PGlite cannot find its files next to its code. */
async function ownParts(): Promise<Pick<PGliteOptions, 'pgliteWasmModule' | 'initdbWasmModule' | 'fsBundle'>> {
  if (!isExecutable) return {}
  return {
    pgliteWasmModule: await WebAssembly.compile(readProgramFile(`${PARTS}/pglite.wasm`)),
    initdbWasmModule: await WebAssembly.compile(readProgramFile(`${PARTS}/initdb.wasm`)),
    fsBundle: new Blob([readProgramFile(`${PARTS}/pglite.data`)]),
  }
}

/** Name of a complete database that replaces the one that was moved away. */
export const NEXT_DATABASE = 'postgres-successor'

/** Completes a restore that was interrupted between its two renames. The folder must be locked. */
function finishRestore(folder: string): void {
  const [successor, current] = [join(folder, NEXT_DATABASE), join(folder, 'postgres')]
  if (existsSync(successor) && !existsSync(current)) renameSync(successor, current)
}

function sqlOf(db: Pick<PGlite | Transaction, 'query'>): Sql {
  // PGlite's types have no read-only arrays, and allow any value as a parameter
  const query = <Row>(text: string, values: readonly SqlValue[] = []) =>
    db.query<Row>(text, values as SqlValue[]).catch((error: unknown) => {
      throw asAppError(error)
    })
  return {
    all: async <Row>(text: string, values?: readonly SqlValue[]) => (await query<Row>(text, values)).rows,
    get: async <Row>(text: string, values?: readonly SqlValue[]) => (await query<Row>(text, values)).rows.at(0),
    run: async (text, values) => (await query(text, values)).affectedRows ?? 0,
  }
}
