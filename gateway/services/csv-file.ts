import { isUtf8 } from 'node:buffer'
import { InvalidRequestError, type LineError } from '#shared/errors.ts'
import { CsvError, type CsvRow, CsvRows, columnKey } from '#shared/history/csv-rows.ts'
import { utf16In } from '#shared/history/text-encoding.ts'

/** Decodes UTF-16, UTF-8 or Windows-1252, as spreadsheets write; text in one of them is rarely valid in another. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder(utf16In(bytes) ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes)
}

/** Number of characters split into rows in one step, and of the longest row: fifty times a typical one. */
const STEP = 16_384
const ROW_MAX = 65_536

/** Signatures of workbooks: a ZIP archive, and the older format of Excel, decoded as windows-1252. */
const ZIP = 'PK\u0003\u0004'
const OLD_WORKBOOK = 'ÐÏ\u0011à'
const WORKBOOK = 'this is an Excel workbook: save it as CSV (File, Save as, CSV UTF-8), then import that file'

/** Yields between steps and returns the rows that are not empty; stops soon after the maximum number of lines. */
export function* csvRowsOf(bytes: Uint8Array, linesMax: number): Generator<void, CsvRow[]> {
  const text = textOf(bytes)
  if (text.startsWith(ZIP) || text.startsWith(OLD_WORKBOOK)) throw invalidFile('invalid_import', 'workbook', WORKBOOK)
  const rows: CsvRow[] = []
  const csv = new CsvRows(undefined, (row) => rows.push(row), ROW_MAX)
  try {
    for (let at = 0; at < text.length; at += STEP) {
      csv.read(text.slice(at, at + STEP))
      if (rows.length > linesMax + 1) return rows
      yield
    }
    csv.end()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw invalidFile('invalid_import', 'invalid', error.message, { line: error.line })
  }
  return rows
}

/** Longest text of the file that an error quotes. */
export const QUOTED_MAX = 40

/**
 * Returns the columns of a file by `names`, in the form of `columnKey`; the first of `columns` is required. Throws
 * `missing_column`, `unknown_column` and `invalid_import`.
 */
export function columnsOf<Column extends string>(
  header: readonly string[],
  names: Readonly<Record<string, Column>>,
  columns: readonly [Column, ...Column[]],
): (Column | undefined)[] {
  const lowerCase = header.map((name) => name.trim().toLowerCase())
  const found = lowerCase.map((name) => {
    const key = columnKey(name)
    return Object.hasOwn(names, key) ? names[key] : undefined
  })
  const [column] = columns
  if (!found.includes(column)) {
    const message = `the first line must name the column ${column}`
    throw invalidFile('missing_column', 'missing_column', message, { column })
  }
  const unknown = lowerCase.filter((name, i) => name !== '' && found[i] === undefined).join(', ')
  if (unknown !== '') {
    const message = `columns are ${columns.join(', ')}; unknown: ${unknown.slice(0, 200)}`
    throw invalidFile('unknown_column', 'unknown_column', message, { value: unknown.slice(0, QUOTED_MAX) })
  }
  const twice = found.find((one, i) => one !== undefined && found.indexOf(one) !== i)
  if (twice === undefined) return found
  throw invalidFile('invalid_import', 'duplicate', `the column ${twice} occurs twice`, { column: twice })
}

function invalidFile(code: string, fault: string, message: string, more: Partial<LineError> = {}): InvalidRequestError {
  return new InvalidRequestError(code, message, [{ line: 1, code: fault, message, ...more }])
}
