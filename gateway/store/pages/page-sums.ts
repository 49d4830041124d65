import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { arch, platform } from 'node:os'
import Database from 'better-sqlite3'
import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import { loadLibrary, programFolder } from '#shared/program-files.ts'

/** Header of the file of checksums: its type, and whether a gateway has it open. `extension.c` describes the rest. */
export const HEADER_BYTES = 512
const STATE_AT = 64
/** Offset of the size and last write time of the database at the close or first use: 8 bytes each, little-endian. */
const FILE_AT = 80
const FILE_MARK_BYTES = 16
export const ENTRY_BYTES = 16
const LIBRARIES = 'gateway/store/pages'
const MAGIC = 'cartbarn page sums 2\n'
/** Number of pages, spread over the file, that distinguish another database from this one with damage. */
const SAMPLE_PAGES = 64
/** Minimum of checked pages for a conclusion. */
const SAMPLE_MIN = 8

type State = 'open' | 'shut'

/**
 * Checksums of all pages of the database, in the file `…-sums` next to it. A page that differs from what was written
 * causes an error (`SQLITE_IOERR_DATA`) in every read that needs it, in all threads of the process. Without the
 * extension for this system, the database is used without checksums.
 */
export class PageSums {
  readonly #path: string
  readonly #sumsPath: string
  readonly #log: Log
  #isOn = false
  /** Connection with the functions of the extension, and without a file that could be damaged. */
  #extended: Database.Database | undefined

  constructor(databasePath: string, log: Log) {
    this.#path = databasePath
    this.#sumsPath = `${databasePath}-sums`
    this.#log = log
  }

  /** Must precede the first opening of the database. Throws if the file of checksums cannot be written. */
  prepare(): void {
    const loaded = loadExtension()
    if ('reason' in loaded) {
      // it would miss all pages written from now on
      rmSync(this.#sumsPath, { force: true })
      this.#log.warn({ reason: loaded.reason }, 'database pages are not checked: no checksum extension')
      return
    }
    try {
      const doubt = this.#doubt(loaded)
      if (doubt !== null) {
        writeFileSync(this.#sumsPath, newHeader(this.#path), { mode: 0o600 })
        if (doubt !== '') this.#log.warn({ reason: doubt }, 'recreated the checksums of the database pages')
      }
    } catch (error) {
      loaded.close()
      throw error
    }
    this.#isOn = true
    this.#extended = loaded
  }

  /** Must follow the opening of the database with its write-ahead log, which then only another program can remove. */
  opened(): void {
    if (this.#isOn) this.#mark('open')
  }

  /** Must be called after the last connection was closed. */
  closed(): void {
    if (this.#isOn) this.#mark('shut')
    this.#isOn = false
    this.#extended?.close()
    this.#extended = undefined
  }

  /**
   * Returns freed memory to the system: after a start, long reads and compilations by V8, glibc keeps tens of
   * megabytes, and Node has no call for it. It is here because the extension is the only native code.
   */
  giveBackMemory(): void {
    this.#extended?.prepare('SELECT give_back_memory()').get()
  }

  /** Best effort: on failure, checksums are recreated unnecessarily, or not although another program wrote. */
  #mark(state: State): void {
    try {
      const sums = openSync(this.#sumsPath, 'r+')
      try {
        writeSync(sums, state, STATE_AT)
        if (state === 'shut') writeSync(sums, fileMark(this.#path), 0, FILE_MARK_BYTES, FILE_AT)
        // a power cut would leave the previous state, by which the database looks like another one
        fsyncSync(sums)
      } finally {
        closeSync(sums)
      }
    } catch (error) {
      this.#log.warn({ reason: describeError(error) }, 'could not mark the checksums of the database pages')
    }
  }

  /** Reason why existing checksums may not belong to this database; empty if none exist, null if they belong. */
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
        return (
          'another program opened the database after the gateway had ended without a stop, ' +
          'or a start was ended while it wrote'
        )
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

/** Loads the extension for all threads and the whole process; must precede the opening of a database with checksums. */
function loadExtension(): Database.Database | { reason: string } {
  const name = `page-sums-${platform()}-${arch()}.so`
  if (!programFolder(LIBRARIES).names().includes(name)) return { reason: `${name} is missing` }
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

/** Header of new checksums: must not match if the start is killed before marking and another program then writes. */
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

/** Returns the size and time of a file; zeros if it does not exist, which no later database has. */
function fileMark(path: string): Buffer {
  const mark = Buffer.alloc(FILE_MARK_BYTES)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return mark
  mark.writeDoubleLE(found.size, 0)
  mark.writeDoubleLE(found.mtimeMs, 8)
  return mark
}

/** Compares within a millisecond: not every file system or restored copy keeps the last digits of the time. */
function isSameFile(noted: Buffer, found: Buffer): boolean {
  return noted.readDoubleLE(0) === found.readDoubleLE(0) && Math.abs(noted.readDoubleLE(8) - found.readDoubleLE(8)) <= 1
}

/** Reads the bytes that exist; returns none if the disk does not return them. */
function readAt(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  try {
    return buffer.subarray(0, readSync(file, buffer, 0, bytes, position))
  } catch {
    return buffer.subarray(0, 0)
  }
}
