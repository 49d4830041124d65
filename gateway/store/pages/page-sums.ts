import { closeSync, existsSync, openSync, readSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { arch, platform } from 'node:os'
import Database from 'better-sqlite3'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { loadLibrary, programFolder } from '#shared/program-files.ts'

/** Of the file of checksums: what it is, and whether a gateway has it open. The rest is described in `extension.c`. */
export const HEADER_BYTES = 512
const STATE_AT = 64
/** Size of the database, and when it was last written, when they were shut or begun: 8 bytes each, little-endian. */
const FILE_AT = 80
const FILE_MARK_BYTES = 16
export const ENTRY_BYTES = 16
const LIBRARIES = 'gateway/store/pages'
const MAGIC = 'cartbarn page sums 2\n'
/** So many pages, spread over the file, tell another database from this one with damage. */
const SAMPLE_PAGES = 64
/** Below so many checked pages nothing is concluded from them. */
const SAMPLE_MIN = 8

type State = 'open' | 'shut'

/**
 * Checksums of all pages of the database, in the file `…-sums` beside it: a page that is not what was written is an
 * error (`SQLITE_IOERR_DATA`) in every read that needs it, in all threads of the process. Without the extension for
 * this system the database is used without them.
 */
export class PageSums {
  readonly #path: string
  readonly #sumsPath: string
  readonly #log: Log
  #isOn = false
  /** With the functions of the extension, and no file that could be damaged. */
  #extended: Database.Database | undefined

  constructor(databasePath: string, log: Log) {
    this.#path = databasePath
    this.#sumsPath = `${databasePath}-sums`
    this.#log = log
  }

  /** Before the database is opened for the first time. Throws when the file of checksums cannot be written. */
  prepare(): void {
    const loaded = loadExtension()
    if ('reason' in loaded) {
      // what is written from now on would not be in it
      rmSync(this.#sumsPath, { force: true })
      this.#log.warn({ reason: loaded.reason }, 'cannot check the pages of the database: no checksums here')
      return
    }
    try {
      const doubt = this.#doubt(loaded)
      if (doubt !== null) {
        writeFileSync(this.#sumsPath, newHeader(this.#path), { mode: 0o600 })
        if (doubt !== '') this.#log.warn({ reason: doubt }, 'makes the checksums of the database pages anew')
      }
    } catch (error) {
      loaded.close()
      throw error
    }
    this.#isOn = true
    this.#extended = loaded
  }

  /**
   * Once the database is open, and has its write-ahead log: from now on that only goes if another program closes it.
   */
  opened(): void {
    if (this.#isOn) this.#mark('open')
  }

  /** After the last connection was closed. */
  closed(): void {
    if (this.#isOn) this.#mark('shut')
    this.#isOn = false
    this.#extended?.close()
    this.#extended = undefined
  }

  /**
   * Gives what the process has freed back to the system: of a start, of long reads and of what V8 compiles glibc keeps
   * tens of megabytes, and Node has no call for it. It is here because the extension is the native code that there is.
   */
  giveBackMemory(): void {
    this.#extended?.prepare('SELECT give_back_memory()').get()
  }

  /** Best effort: without it they may be made anew where it is not needed, or not where another program wrote. */
  #mark(state: State): void {
    try {
      const sums = openSync(this.#sumsPath, 'r+')
      try {
        writeSync(sums, state, STATE_AT)
        if (state === 'shut') writeSync(sums, fileMark(this.#path), 0, FILE_MARK_BYTES, FILE_AT)
      } finally {
        closeSync(sums)
      }
    } catch (error) {
      this.#log.warn({ reason: describeError(error) }, 'could not mark the checksums of the database pages')
    }
  }

  /**
   * Why the checksums that are there may not be those of this database; empty when there are none, null without doubt.
   */
  #doubt(tester: Database.Database): string | null {
    if (!existsSync(this.#sumsPath) || !existsSync(this.#path)) return ''
    const sums = openSync(this.#sumsPath, 'r')
    try {
      const header = readAt(sums, 0, HEADER_BYTES)
      if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'they are not in the form of this program'
      const isShut = header.toString('latin1', STATE_AT, STATE_AT + 4) === 'shut'
      if (isShut && !isSameFile(header.subarray(FILE_AT, FILE_AT + FILE_MARK_BYTES), fileMark(this.#path)))
        return 'the database was replaced or written since the gateway was stopped, or a start was ended while it wrote'
      if (!isShut && !existsSync(`${this.#path}-wal`))
        return 'another program has opened the database since the gateway was ended without a stop'
      return this.#isOfAnother(sums, tester) ? 'most of them belong to other content' : null
    } finally {
      closeSync(sums)
    }
  }

  #isOfAnother(sums: number, tester: Database.Database): boolean {
    const database = openSync(this.#path, 'r')
    try {
      const pageBytes = pageSizeOf(readAt(database, 0, 100))
      const isRight = tester.prepare<[Buffer, number, Buffer], number | null>('SELECT page_is_right(?, ?, ?)')
      isRight.pluck()
      const verdicts = sampleOf(Math.floor(statSync(this.#path).size / pageBytes)).map((number) =>
        isRight.get(
          readAt(database, (number - 1) * pageBytes, pageBytes),
          number,
          readAt(sums, HEADER_BYTES + (number - 1) * ENTRY_BYTES, ENTRY_BYTES),
        ),
      )
      const known = verdicts.filter((verdict) => verdict !== null).length
      const wrong = verdicts.filter((verdict) => verdict === 0).length
      return known >= SAMPLE_MIN && wrong * 2 > known
    } finally {
      closeSync(database)
    }
  }
}

/** Whoever opens a database with checksums loads it before; for all threads, and for the rest of the process. */
function loadExtension(): Database.Database | { reason: string } {
  const name = `page-sums-${platform()}-${arch()}.so`
  if (!programFolder(LIBRARIES).names().includes(name)) return { reason: `there is no ${name}` }
  const database = new Database(':memory:')
  try {
    return loadLibrary(`${LIBRARIES}/${name}`, (path) => database.loadExtension(path))
  } catch (error) {
    database.close()
    return { reason: describeError(error) }
  }
}

function sampleOf(pages: number): number[] {
  const count = Math.min(pages, SAMPLE_PAGES)
  return Array.from({ length: count }, (_, i) => 1 + Math.floor((i * pages) / count))
}

/**
 * Of checksums that are begun. A start may be killed before it marks them, and what another program makes of the
 * database then must not pass for what they were kept for.
 */
function newHeader(databasePath: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(MAGIC, 'latin1')
  header.write('shut' satisfies State, STATE_AT, 'latin1')
  fileMark(databasePath).copy(header, FILE_AT)
  return header
}

// big-endian at 16; 1 stands for 65536: sqlite.org/fileformat2.html#page_size
function pageSizeOf(header: Buffer): number {
  const stored = header.length < 18 ? 0 : header.readUInt16BE(16)
  return stored === 1 ? 65536 : Math.max(stored, 512)
}

/** Zeros without a file: no database that there is later has them. */
function fileMark(path: string): Buffer {
  const mark = Buffer.alloc(FILE_MARK_BYTES)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return mark
  mark.writeDoubleLE(found.size, 0)
  mark.writeDoubleLE(found.mtimeMs, 8)
  return mark
}

/** Within a millisecond: not every file system, and no restored copy, keeps the time to the last digit. */
function isSameFile(noted: Buffer, found: Buffer): boolean {
  return noted.readDoubleLE(0) === found.readDoubleLE(0) && Math.abs(noted.readDoubleLE(8) - found.readDoubleLE(8)) <= 1
}

/** What there is; nothing where the disk does not return it. */
function readAt(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  try {
    return buffer.subarray(0, readSync(file, buffer, 0, bytes, position))
  } catch {
    return buffer.subarray(0, 0)
  }
}
