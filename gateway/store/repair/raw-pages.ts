import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import Database from 'better-sqlite3'
import { ENTRY_BYTES, HEADER_BYTES } from '../pages/page-sums.ts'
import { type CommittedLog, readCommitted } from './committed-log.ts'
import { PointerMap, type RawPage } from './pointer-map.ts'

/** Size of a page: every database of a gateway has SQLite's default. */
export const PAGE_BYTES = 4096
const MAGIC = 'SQLite format 3\0'
/** Offset of a header field that is not 0 only in databases with a pointer map. */
const LARGEST_ROOT_AT = 52

/**
 * Pages of a database, read from its file and the committed part of its log: https://sqlite.org/fileformat2.html. For
 * content that SQLite cannot reach. No process may write to the database at the same time.
 */
export class RawPages {
  /** Number of pages of the database. */
  readonly count: number
  readonly #file: number
  readonly #logFile: number | null
  readonly #log: CommittedLog | null
  readonly #sums: PageVerdicts | null
  #map: PointerMap | undefined

  constructor(path: string) {
    this.#file = openSync(path, 'r')
    this.#logFile = existsSync(`${path}-wal`) ? openSync(`${path}-wal`, 'r') : null
    this.#log = this.#logFile === null ? null : readCommitted(this.#logFile)
    this.#sums = PageVerdicts.open(`${path}-sums`)
    this.count = this.#log?.pageCount ?? Math.floor(fstatSync(this.#file).size / PAGE_BYTES)
  }

  /** True if the pages can be read without SQLite: false for a format that the gateway does not create. */
  get isOurForm(): boolean {
    const page = this.read(1)
    if (this.count === 0 || (this.#log !== null && this.#log.pageBytes !== PAGE_BYTES)) return false
    // a damaged page: its format fields are ignored
    if (page === null || page.isRight === false || page.bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return true
    return page.bytes.readUInt16BE(16) === PAGE_BYTES && page.bytes.readUInt32BE(LARGEST_ROOT_AT) > 0
  }

  get map(): PointerMap {
    this.#map ??= new PointerMap(this)
    return this.#map
  }

  /** Reads a page; null if it does not exist or the disk returns nothing. */
  read(number: number): RawPage | null {
    if (number < 1 || number > this.count) return null
    const inLog = this.#log?.contentAt.get(number)
    if (inLog !== undefined && this.#logFile !== null) {
      const bytes = readWhole(this.#logFile, inLog)
      // the checksums of its frames are proven
      return bytes === null ? null : { bytes, isRight: true }
    }
    const bytes = readWhole(this.#file, (number - 1) * PAGE_BYTES)
    return bytes === null ? null : { bytes, isRight: this.#sums?.of(number, bytes) ?? null }
  }

  close(): void {
    closeSync(this.#file)
    if (this.#logFile !== null) closeSync(this.#logFile)
    this.#sums?.close()
  }
}

function readWhole(file: number, at: number): Buffer | null {
  const bytes = Buffer.alloc(PAGE_BYTES)
  try {
    return readSync(file, bytes, 0, PAGE_BYTES, at) === PAGE_BYTES ? bytes : null
  } catch {
    return null
  }
}

/** Checks of pages against the file of checksums. */
class PageVerdicts {
  readonly #file: number
  readonly #judge: Database.Database
  readonly #isRight: Database.Statement<[Buffer, number, Buffer], number | null>
  readonly #wrongBit: Database.Statement<[Buffer, number, Buffer], number | null>

  private constructor(path: string, judge: Database.Database) {
    this.#file = openSync(path, 'r')
    this.#judge = judge
    this.#isRight = judge.prepare<[Buffer, number, Buffer], number | null>('SELECT page_is_right(?, ?, ?)')
    this.#isRight.pluck()
    this.#wrongBit = judge.prepare<[Buffer, number, Buffer], number | null>('SELECT page_wrong_bit(?, ?, ?)')
    this.#wrongBit.pluck()
  }

  /** Opens the checksums; null if they do not exist, or the extension that checks them is not loaded. */
  static open(path: string): PageVerdicts | null {
    if (!existsSync(path)) return null
    const judge = new Database(':memory:')
    if (judge.prepare("SELECT 1 FROM pragma_function_list WHERE name = 'page_is_right'").get())
      return new PageVerdicts(path, judge)
    judge.close()
    return null
  }

  /** Returns true if a page is as it was written; null if unknown. Corrects one wrong bit in `bytes`. */
  of(number: number, bytes: Buffer): boolean | null {
    const entry = Buffer.alloc(ENTRY_BYTES)
    try {
      readSync(this.#file, entry, 0, ENTRY_BYTES, HEADER_BYTES + (number - 1) * ENTRY_BYTES)
    } catch {
      return null
    }
    const verdict = this.#isRight.get(bytes, number, entry)
    if (verdict !== 0) return verdict === 1 ? true : null
    const bit = this.#wrongBit.get(bytes, number, entry) ?? null
    if (bit === null) return false
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return true
  }

  close(): void {
    closeSync(this.#file)
    this.#judge.close()
  }
}
