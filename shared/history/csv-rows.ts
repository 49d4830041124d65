/** The text cannot be split any further. */
export class CsvError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** Longer than any row of any file that is meant to be one. */
const ROW_LIMIT = 1_048_576

export interface CsvRow {
  /** The line it begins in. */
  line: number
  /** Null where the quotes are wrong. */
  fields: string[] | null
}

const DELIMITERS = [',', ';', '\t']

/** Splits CSV into rows as it comes. Lines end with LF or CRLF; between quotes they end nothing. Source: RFC 4180 2 */
export class CsvRows {
  readonly #onRow: (row: CsvRow) => void
  #delimiter: string | undefined
  #rest = ''
  #line = 1

  /** Without a delimiter the first row decides: the one it has most of. */
  constructor(delimiter: string | undefined, onRow: (row: CsvRow) => void) {
    this.#delimiter = delimiter
    this.#onRow = onRow
  }

  /** Undefined before the first row. */
  get delimiter(): string | undefined {
    return this.#delimiter
  }

  /** Throws `CsvError` where a row does not end. */
  read(text: string): void {
    const data = this.#rest + text
    let start = 0
    let quote = data.indexOf('"')
    let isQuoted = false
    for (let end = data.indexOf('\n'); end !== -1; end = data.indexOf('\n', end + 1)) {
      while (quote !== -1 && quote < end) {
        isQuoted = !isQuoted
        quote = data.indexOf('"', quote + 1)
      }
      if (isQuoted) continue
      this.#take(data.slice(start, end))
      start = end + 1
    }
    this.#rest = data.slice(start)
    if (this.#rest.length > ROW_LIMIT)
      throw new CsvError(
        this.#line,
        `line ${this.#line} does not end: a quotation mark without its other half?`,
      )
  }

  /** The last row may lack its line end. Throws `CsvError` where quotes are left open. */
  end(): void {
    const rest = this.#rest
    this.#rest = ''
    if (rest.split('"').length % 2 === 0)
      throw new CsvError(this.#line, `the file ends between the quotation marks of line ${this.#line}`)
    if (rest !== '') this.#take(rest)
  }

  #take(text: string): void {
    const row = text.endsWith('\r') ? text.slice(0, -1) : text
    const line = this.#line
    this.#line += row.includes('\n') ? row.split('\n').length : 1
    if (row.trim() === '') return
    this.#delimiter ??= mostFrequent(row)
    const fields = row.includes('"') ? quotedFields(row, this.#delimiter) : row.split(this.#delimiter)
    this.#onRow({ line, fields })
  }
}

function mostFrequent(row: string): string {
  const counts = DELIMITERS.map((delimiter) => row.split(delimiter).length)
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

/** The quotation mark that ends a field; two of them are one within it. Rows have them in pairs. */
function quotedEnd(row: string, start: number): number {
  let end = row.indexOf('"', start + 1)
  while (row[end + 1] === '"') end = row.indexOf('"', end + 2)
  return end
}
