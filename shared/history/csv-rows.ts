/** Error for a text that cannot be split any further. */
export class CsvError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** Maximum row length in characters, beyond that of any genuine file. */
const ROW_LIMIT = 1_048_576

export interface CsvRow {
  /** Line in which the row begins. */
  line: number
  /** Null if the quotes are invalid. */
  fields: string[] | null
}

const DELIMITERS = [',', ';', '\t']

/** Separator line of spreadsheets before the header: `sep=;`. */
const SEPARATOR_LINE = /^\ufeff?"?sep=([^"\r\n]|\\t)"?$/i

/** Normalises a column name to lower-case letters without separators, such as `hardwareid` for "Hardware-ID". */
export function columnKey(name: string): string {
  return name.toLowerCase().replaceAll(NO_LETTERS, '')
}

const NO_LETTERS = /[^\p{L}\p{N}]/gu

/**
 * Incremental CSV parser (RFC 4180 2); skips empty rows. Rows end with LF or CRLF, or all with CR, not within quotes.
 */
export class CsvRows {
  readonly #onRow: (row: CsvRow) => void
  readonly #rowLimit: number
  #delimiter: string | undefined
  /** Undefined until the first line is complete. */
  #lineEnd: '\n' | '\r' | undefined
  #rest = ''
  #line = 1
  #isFirst = true

  /** Without `delimiter` the first row decides: its `sep=`, else the delimiter that it contains most often. */
  constructor(delimiter: string | undefined, onRow: (row: CsvRow) => void, rowLimit = ROW_LIMIT) {
    this.#rowLimit = rowLimit
    this.#delimiter = delimiter
    this.#onRow = onRow
  }

  /** Throws `CsvError` if a row does not end. */
  read(text: string): void {
    const data = this.#rest + text
    this.#lineEnd ??= lineEndIn(data)
    const lineEnd = this.#lineEnd
    let start = 0
    let quote = data.indexOf('"')
    let isQuoted = false
    const next = (from: number) => (lineEnd === undefined ? -1 : data.indexOf(lineEnd, from))
    for (let end = next(0); end !== -1; end = next(end + 1)) {
      while (quote !== -1 && quote < end) {
        isQuoted = !isQuoted
        quote = data.indexOf('"', quote + 1)
      }
      if (isQuoted) continue
      this.#take(data.slice(start, end))
      start = end + 1
    }
    this.#rest = data.slice(start)
    if (this.#rest.length > this.#rowLimit)
      throw new CsvError(this.#line, `line ${this.#line} does not end: probably an unmatched quotation mark`)
  }

  /** Ends the text; the last row may lack its line end. Throws `CsvError` if quotes are left open. */
  end(): void {
    const rest = this.#rest
    this.#rest = ''
    if (rest.split('"').length % 2 === 0)
      throw new CsvError(this.#line, `the file ends between the quotation marks of line ${this.#line}`)
    if (rest !== '') this.#take(rest)
  }

  #take(text: string): void {
    let row = text
    while (row.endsWith('\r')) row = row.slice(0, -1)
    const line = this.#line
    const lineEnd = this.#lineEnd ?? '\n'
    this.#line += row.includes(lineEnd) ? row.split(lineEnd).length : 1
    if (row.trim() === '') return
    if (this.#isFirst) {
      this.#isFirst = false
      const separator = SEPARATOR_LINE.exec(row)?.[1]
      if (separator !== undefined) {
        this.#delimiter ??= separator === '\\t' ? '\t' : separator
        return
      }
    }
    this.#delimiter ??= mostFrequent(row)
    const fields = row.includes('"') ? quotedFields(row, this.#delimiter) : row.split(this.#delimiter)
    if (fields?.every((field) => field.trim() === '')) return
    this.#onRow({ line, fields })
  }
}

/** Returns the end of the first line; undefined while it is incomplete. */
function lineEndIn(data: string): '\n' | '\r' | undefined {
  let isQuoted = false
  for (const [character] of data.matchAll(/"|\n|\r(?=[^\r\n])/g)) {
    if (character === '"') isQuoted = !isQuoted
    else if (!isQuoted) return character === '\n' ? '\n' : '\r'
  }
  return undefined
}

/** Returns the most frequent delimiter outside quotes. */
function mostFrequent(row: string): string {
  const bare = row.replaceAll(/"[^"]*"/g, '')
  const counts = DELIMITERS.map((delimiter) => bare.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}

function quotedFields(row: string, delimiter: string): string[] | null {
  const fields: string[] = []
  for (let at = 0; ; at++) {
    const isQuoted = row[at] === '"'
    const end = isQuoted ? quotedEnd(row, at) : row.indexOf(delimiter, at)
    const field = row.slice(isQuoted ? at + 1 : at, end === -1 ? row.length : end)
    if (!isQuoted && field.includes('"')) return null
    fields.push(isQuoted ? field.replaceAll('""', '"') : field)
    if (end === -1) return fields
    at = isQuoted ? end + 1 : end
    if (at === row.length) return fields
    if (row[at] !== delimiter) return null
  }
}

/** Finds the quote that ends a field; a doubled one is an escaped quote within it. Rows contain them in pairs. */
function quotedEnd(row: string, start: number): number {
  let end = row.indexOf('"', start + 1)
  while (row[end + 1] === '"') end = row.indexOf('"', end + 2)
  return end
}
