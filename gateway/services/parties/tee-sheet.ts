import { AppError, InvalidRequestError, type LineError } from '#shared/errors.ts'
import type { CsvRow } from '#shared/history/csv-rows.ts'
import { isCalendarDate, type TimeZone } from '#shared/site/time-zone.ts'
import { parseIso, toIso } from '#shared/time.ts'
import {
  PARTIES_A_DAY,
  type Party,
  SHEET_COLUMNS,
  SHEET_LINES_MAX,
  type SheetColumn,
  sheetLineSchema,
} from '#shared/wire/parties/parties.ts'
import { stateOf } from '#shared/wire/parties/party-json.ts'
import { columnsOf, csvRowsOf } from '../csv-file.ts'
import { type PartyFields, withFields } from './party-fields.ts'

/** Valid line of a tee sheet, on a local day. */
export interface SheetRow {
  line: number
  date: string
  fields: PartyFields
  /** Identifies the party among those of its day. */
  key: string
}

interface Sheet {
  /** Local day of tee times as HH:MM. */
  date: string | undefined
  timeZone: TimeZone
}

/** Maximum number of errors in a response. */
const ERRORS_SHOWN = 1000
const TIME_OF_DAY = /^([01]?\d|2[0-3]):([0-5]\d)$/

/** Column names used by people and booking systems, in the form of `columnKey`. */
const COLUMN_NAMES: Readonly<Record<string, SheetColumn>> = {
  teetime: 'tee_time',
  time: 'tee_time',
  startzeit: 'tee_time',
  players: 'players',
  spieler: 'players',
  starthole: 'start_hole',
  startbahn: 'start_hole',
  holes: 'holes',
  bahnen: 'holes',
  note: 'note',
  notiz: 'note',
  externalid: 'external_id',
}

/** Reads a tee sheet as CSV, step by step. Throws `missing_column`, `unknown_column` and `invalid_import`. */
export function* readSheetFile(bytes: Uint8Array, sheet: Sheet): Generator<void, SheetRow[]> {
  const [header, ...rows] = yield* csvRowsOf(bytes, SHEET_LINES_MAX)
  const columns = columnsOf(header?.fields ?? [], COLUMN_NAMES, SHEET_COLUMNS)
  const lines = rows.map((row): [number, unknown] => [row.line, fieldsOf(row, columns)])
  return readLines(lines, sheet)
}

/** Reads the lines of a tee sheet as JSON; the first is 1. */
export function readSheetJson(lines: readonly unknown[], sheet: Sheet): SheetRow[] {
  const numbered = lines.map((fields, i): [number, unknown] => [i + 1, fields])
  return readLines(numbered, sheet)
}

/** Returns the fields of a line as in JSON; null for unbalanced quotation marks. */
function fieldsOf({ fields }: CsvRow, columns: readonly (SheetColumn | undefined)[]): Record<string, unknown> | null {
  if (fields === null) return null
  const texts = fields.map((field) => field.trim())
  return Object.fromEntries([
    ...columns.flatMap((column, i) => (column === undefined ? [] : [[column, jsonOf(column, texts[i] ?? '')]])),
    ...texts.flatMap((text, i) => (columns[i] === undefined && text !== '' ? [[`field ${i + 1}`, text]] : [])),
  ])
}

function jsonOf(column: SheetColumn, text: string): unknown {
  if (column === 'players') return text.split('|').flatMap((name) => name.trim() || [])
  if (text === '') return column === 'tee_time' ? undefined : null
  return column === 'start_hole' || column === 'holes' ? Number(text) : text
}

function readLines(lines: readonly [line: number, fields: unknown][], sheet: Sheet): SheetRow[] {
  if (lines.length > SHEET_LINES_MAX)
    throw new AppError('payload_too_large', 'payload_too_large', `use at most ${SHEET_LINES_MAX} lines a sheet`)
  const errors: LineError[] = []
  const rows = new Map<string, SheetRow>()
  for (const [line, fields] of lines) {
    const row = readLine(line, fields, sheet)
    const earlier = 'code' in row ? undefined : rows.get(row.key)
    if ('code' in row) errors.push(row)
    else if (earlier === undefined) rows.set(row.key, row)
    else errors.push({ line, code: 'duplicate', message: `the same party as in line ${earlier.line}` })
  }
  if (errors.length > 0) throw invalidSheet(errors)
  return [...rows.values()]
}

function readLine(line: number, fields: unknown, { date: day, timeZone }: Sheet): SheetRow | LineError {
  const wrong = (code: string, message: string): LineError => ({ line, code, message })
  if (fields === null) return wrong('invalid', 'the quotation marks are not balanced')
  const parsed = sheetLineSchema.safeParse(fields)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = issue?.path.join('.') ?? ''
    const isMissing = name === 'tee_time' && Reflect.get(Object(fields), name) === undefined
    return isMissing ? wrong('missing', 'tee_time is empty') : wrong('invalid', `${name}: ${issue?.message}`)
  }
  const { tee_time: text, ...others } = parsed.data
  const teeTimeMs = teeTimeOf(text, day, timeZone)
  if (teeTimeMs === null) return wrong('invalid', 'tee_time: must be HH:MM, or a time such as 2026-05-01T08:30:00Z')
  const { date } = timeZone.local(teeTimeMs)
  const row = { ...others, tee_time: toIso(teeTimeMs) }
  return { line, date, fields: row, key: keyOf({ ...row, date }) }
}

/** Returns the time of a text; null for none. Throws `missing_parameter` for HH:MM without a day. */
function teeTimeOf(text: string, day: string | undefined, timeZone: TimeZone): number | null {
  const [, hours, minutes] = TIME_OF_DAY.exec(text) ?? []
  // a day alone has no time
  if (hours === undefined) return isCalendarDate(text) ? null : (parseIso(text) ?? null)
  if (day !== undefined) return timeZone.instantOf(day, Number(hours) * 60 + Number(minutes))
  throw new InvalidRequestError('missing_parameter', 'tee times as HH:MM need the parameter date')
}

/** Changes that a tee sheet makes. */
export interface SheetPlan {
  created: Party[]
  updated: Party[]
  unchanged: number
  deleted: Party[]
}

interface SheetTarget {
  /** Parties of the days of the sheet. */
  known: readonly Party[]
  replaces: boolean
  create: () => Party
  timeZone: TimeZone
}

/** Plans a tee sheet. Throws `invalid_import` for days with too many parties. */
export function planSheet(rows: readonly SheetRow[], { known, replaces, create, timeZone }: SheetTarget): SheetPlan {
  const plan: SheetPlan = { created: [], updated: [], unchanged: 0, deleted: [] }
  const byKey = new Map<string, Party>()
  for (const party of known) {
    if (party.external_id !== null || party.source === 'sheet') byKey.set(keyOf(party), party)
  }
  for (const { key, fields } of rows) {
    const before = byKey.get(key)
    byKey.delete(key)
    const after = withFields(before ?? create(), fields, timeZone)
    if (before === undefined) plan.created.push(after)
    else if (JSON.stringify(before) === JSON.stringify(after)) plan.unchanged++
    else plan.updated.push(after)
  }
  // those that remain are in no line
  if (replaces)
    plan.deleted = [...byKey.values()].filter((party) => party.source === 'sheet' && stateOf(party) === 'booked')
  for (const [date, last] of new Map(rows.map((row) => [row.date, row]))) {
    const onDay = [...known, ...plan.created].filter((party) => party.date === date && !plan.deleted.includes(party))
    const message = `${date} would have more than ${PARTIES_A_DAY} parties`
    if (onDay.length > PARTIES_A_DAY) throw invalidSheet([{ line: last.line, code: 'too_many_parties', message }])
  }
  return plan
}

type KeyFields = Pick<PartyFields, 'tee_time' | 'start_hole' | 'external_id'> & { date: string }

function keyOf({ date, external_id = null, tee_time, start_hole = null }: KeyFields): string {
  return JSON.stringify(external_id === null ? [date, tee_time, start_hole] : [date, external_id])
}

function invalidSheet(errors: LineError[]): InvalidRequestError {
  const [first] = errors
  const message = `nothing was imported, ${errors.length} errors; line ${first?.line}: ${first?.message}`
  return new InvalidRequestError('invalid_import', message, errors.slice(0, ERRORS_SHOWN))
}
