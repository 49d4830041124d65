import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'
import { createRandom } from '#shared/random.ts'
import { openForSetup } from '#store/writer/open.ts'

/** Interval, in transactions, of deletions of everything older than as many. */
const PURGE_EVERY = 40
const STATES = 30
/** Interval of transactions larger than the cache, which SQLite partly writes to the log before they end. */
const LARGE_EVERY = 9
const SMALL_CACHE_PAGES = 20

/**
 * Database written as the gateway writes its own, with transactions whose content follows from `seed` and their number,
 * so that a reader can check which of them exist, and if each is complete.
 */
export class NumberedWriter {
  readonly db: Database.Database
  readonly #seed: number
  #written: number

  constructor(path: string, seed: number) {
    this.#seed = seed
    this.db = openForSetup(path).db
    this.db.pragma(`cache_size = ${SMALL_CACHE_PAGES}`)
    this.db.exec(`
      CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, content BLOB NOT NULL);
      CREATE INDEX IF NOT EXISTS entry_by_content ON entry (content);
      CREATE TABLE IF NOT EXISTS state (slot INTEGER PRIMARY KEY, number INTEGER NOT NULL)`)
    this.#written = writtenTransactions(this.db)
  }

  /** Commits the next transaction; returns its number once it is on the disk. */
  write(): number {
    const number = this.#written + 1
    this.db.transaction(() => this.#change(number)).immediate()
    this.#written = number
    return number
  }

  /** Checkpoints as the gateway does, when the log has this many pages. */
  checkpointFrom(pages: number): void {
    const [size] = this.db.pragma('wal_checkpoint(NOOP)') as { log: number }[]
    if (size !== undefined && size.log >= pages) this.db.pragma('wal_checkpoint(FULL)')
  }

  #change(number: number): void {
    const insert = this.db.prepare('INSERT INTO entry (number, content) VALUES (?, ?)')
    for (const content of contents(this.#seed, number)) insert.run(number, content)
    this.db.prepare('INSERT OR REPLACE INTO state VALUES (?, ?)').run(number % STATES, number)
    if (number % PURGE_EVERY !== 0) return
    this.db.prepare('DELETE FROM entry WHERE number <= ?').run(number - PURGE_EVERY)
    this.db.pragma('incremental_vacuum(50)')
  }
}

function contents(seed: number, number: number): Buffer[] {
  const random = createRandom(seed, number)
  const count = number % LARGE_EVERY === 0 ? random.integer(40, 120) : random.integer(1, 4)
  return Array.from({ length: count }, (_, i) => {
    const start = createHash('sha256').update(`${seed} ${number} ${i}`).digest()
    return Buffer.alloc(random.integer(40, 1200), start)
  })
}

function writtenTransactions(db: Database.Database): number {
  return Number(db.prepare('SELECT coalesce(max(number), 0) FROM state').pluck().get())
}

/**
 * Returns the number of transactions in a database. Throws if its content is not exactly that of the first ones of
 * `seed`.
 */
export function requireTransactions(path: string, seed: number): number {
  const db = new Database(path)
  try {
    // closing copies the log into a database that has served its purpose
    db.pragma('synchronous = OFF')
    const problem = db.pragma('integrity_check', { simple: true })
    if (problem !== 'ok') throw new Error(`damaged: ${problem}`)
    // the whole log was lost before anything was copied
    const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'state'").get() === undefined
    if (isEmpty) return 0
    const written = writtenTransactions(db)
    requireEntries(db, seed, written)
    requireStates(db, written)
    return written
  } finally {
    db.close()
  }
}

function requireEntries(db: Database.Database, seed: number, written: number): void {
  const purged = Math.max(0, written - (written % PURGE_EVERY) - PURGE_EVERY)
  const entries = db
    .prepare<[], { number: number; content: Buffer }>('SELECT number, content FROM entry ORDER BY id')
    .all()
  let at = 0
  for (let number = purged + 1; number <= written; number++) {
    for (const content of contents(seed, number)) {
      const entry = entries[at++]
      if (entry?.number !== number || !entry.content.equals(content))
        throw new Error(`an entry of transaction ${number} of ${written} is missing or wrong`)
    }
  }
  if (at !== entries.length) throw new Error(`entries of more than ${written} transactions`)
}

function requireStates(db: Database.Database, written: number): void {
  const states = db
    .prepare<[], { slot: number; number: number }>('SELECT slot, number FROM state ORDER BY number')
    .all()
  const first = Math.max(1, written - STATES + 1)
  const isRight = states.every(({ number, slot }, i) => number === first + i && slot === number % STATES)
  if (!isRight || states.length !== written - first + 1) throw new Error(`wrong states after ${written}`)
}
