import { AppError, InvalidRequestError, type LineError } from '#shared/errors.ts'
import { type CsvRow, columnKey } from '#shared/history/csv-rows.ts'
import { isCalendarDate, type TimeZone } from '#shared/site/time-zone.ts'
import { parseIso } from '#shared/time.ts'
import {
  PARTIES_A_DAY,
  SHEET_COLUMNS,
  SHEET_LINES_MAX,
  type SheetColumn,
  type SheetLine,
  sheetLineSchema,
} from '#shared/wire/parties/parties.ts'
import { type Party, stateOf } from '#shared/wire/parties/party-json.ts'
import { csvRowsOf } from '../csv-file.ts'

/** Valid line of a tee sheet, on a local day; an absent field stays as it is in a known party. */
export interface SheetRow {
  line: number
  date: string
  teeTimeMs: number
  fields: SheetLine
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
  const columns = columnsOf(header?.fields ?? [])
  return readLines(
    rows.map((row) => [row.line, fieldsOf(row, columns)]),
    sheet,
  )
}

/** Reads the lines of a tee sheet as JSON; the first is 1. */
export function readSheetJson(lines: readonly unknown[], sheet: Sheet): SheetRow[] {
  return readLines(
    lines.map((fields, i) => [i + 1, fields]),
    sheet,
  )
}

function columnsOf(header: readonly string[]): (SheetColumn | undefined)[] {
  const columns = header.map((name) => {
    const key = columnKey(name.trim())
    return Object.hasOwn(COLUMN_NAMES, key) ? COLUMN_NAMES[key] : undefined
  })
  const unknown = header.filter((name, i) => name.trim() !== '' && columns[i] === undefined)
  if (!columns.includes('tee_time'))
    throw new InvalidRequestError('missing_column', 'the first line must name the column tee_time')
  if (unknown.length > 0) {
    const found = unknown.join(', ').slice(0, 200)
    throw new InvalidRequestError('unknown_column', `columns are ${SHEET_COLUMNS.join(', ')}; unknown: ${found}`)
  }
  const twice = columns.find((column, i) => column !== undefined && columns.indexOf(column) !== i)
  if (twice === undefined) return columns
  const message = `the column ${twice} occurs twice`
  throw new InvalidRequestError('invalid_import', message, [{ line: 1, code: 'duplicate', message }])
}

/** Returns the fields of a line as in JSON; null for unbalanced quotation marks. */
function fieldsOf({ fields }: CsvRow, columns: readonly (SheetColumn | undefined)[]): Record<string, unknown> | null {
  if (fields === null) return null
  const line: Record<string, unknown> = {}
  for (const [i, column] of columns.entries()) {
    const text = fields[i]?.trim() ?? ''
    if (column === undefined) continue
    if (column === 'players')
      line[column] = text
        .split('|')
        .map((name) => name.trim())
        .filter((name) => name !== '')
    else if (text === '') line[column] = column === 'tee_time' ? undefined : null
    else line[column] = column === 'start_hole' || column === 'holes' ? Number(text) : text
  }
  for (const [i, text] of fields.entries())
    if (columns[i] === undefined && text.trim() !== '') line[`field ${i + 1}`] = text
  return line
}

function readLines(lines: readonly [line: number, fields: unknown][], sheet: Sheet): SheetRow[] {
  if (lines.length > SHEET_LINES_MAX)
    throw new AppError('payload_too_large', 'payload_too_large', `use at most ${SHEET_LINES_MAX} lines a sheet`)
  const errors: LineError[] = []
  const rows: SheetRow[] = []
  const known = new Map<string, number>()
  for (const [line, fields] of lines) {
    const row = readLine(line, fields, sheet)
    if ('code' in row) {
      errors.push(row)
      continue
    }
    const key = keyOf(row.date, row.fields.external_id ?? null, row.teeTimeMs, row.fields.start_hole ?? null)
    const earlier = known.get(key)
    if (earlier !== undefined) errors.push({ line, code: 'duplicate', message: `the same party as in line ${earlier}` })
    else known.set(key, line)
    rows.push(row)
  }
  if (errors.length > 0) throw invalidSheet(errors)
  return rows
}

function readLine(line: number, fields: unknown, { date, timeZone }: Sheet): SheetRow | LineError {
  const wrong = (code: string, message: string): LineError => ({ line, code, message })
  if (fields === null) return wrong('invalid', 'the quotation marks are not balanced')
  const parsed = sheetLineSchema.safeParse(fields)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = issue?.path.join('.') ?? ''
    const isMissing = name === 'tee_time' && Reflect.get(Object(fields), name) === undefined
    return isMissing ? wrong('missing', 'tee_time is empty') : wrong('invalid', `${name}: ${issue?.message}`)
  }
  const { tee_time: text } = parsed.data
  const [, hours, minutes] = TIME_OF_DAY.exec(text) ?? []
  if (hours !== undefined && minutes !== undefined) {
    if (date === undefined)
      throw new InvalidRequestError('missing_parameter', 'tee times as HH:MM need the parameter date')
    const teeTimeMs = timeZone.instantOf(date, Number(hours) * 60 + Number(minutes))
    return { line, date, teeTimeMs, fields: parsed.data }
  }
  // a day alone has no time
  const teeTimeMs = isCalendarDate(text) ? null : parseIso(text)
  if (teeTimeMs == null) return wrong('invalid', 'tee_time: must be HH:MM, or a time such as 2026-05-01T08:30:00Z')
  return { line, date: timeZone.local(teeTimeMs).date, teeTimeMs, fields: parsed.data }
}

/** Changes that a tee sheet makes. */
export interface SheetPlan {
  created: Party[]
  updated: Party[]
  unchanged: number
  deleted: Party[]
}

/** Plans a tee sheet, given the parties of its days. Throws `invalid_import` for days with too many parties. */
export function planSheet(
  rows: readonly SheetRow[],
  {
    known,
    replaces,
    create,
    nowMs,
  }: { known: readonly Party[]; replaces: boolean; create: (row: SheetRow) => Party; nowMs: number },
): SheetPlan {
  const plan: SheetPlan = { created: [], updated: [], unchanged: 0, deleted: [] }
  const byKey = new Map<string, Party>()
  for (const party of known) {
    const { date, externalId, teeTimeMs, startHole, source } = party
    if (externalId !== null) byKey.set(keyOf(date, externalId, 0, null), party)
    else if (source === 'sheet' && teeTimeMs !== null) byKey.set(keyOf(date, null, teeTimeMs, startHole), party)
  }
  const kept = new Set<string>()
  const counts = new Map<string, { count: number; line: number }>()
  for (const row of rows) {
    const { fields, date, teeTimeMs } = row
    const found = byKey.get(keyOf(date, fields.external_id ?? null, teeTimeMs, fields.start_hole ?? null))
    const before = found ?? create(row)
    const after = withFields(before, row, nowMs)
    kept.add(before.partyId)
    if (found === undefined) {
      plan.created.push(after)
      counts.set(date, { count: (counts.get(date)?.count ?? 0) + 1, line: row.line })
    } else if (isSame(before, after)) plan.unchanged++
    else plan.updated.push(after)
  }
  if (replaces)
    plan.deleted = known.filter(
      (party) => party.source === 'sheet' && stateOf(party) === 'booked' && !kept.has(party.partyId),
    )
  for (const [date, { count, line }] of counts) {
    const left = known.filter((party) => party.date === date && !plan.deleted.includes(party)).length
    const message = `${date} would have more than ${PARTIES_A_DAY} parties`
    if (left + count > PARTIES_A_DAY) throw invalidSheet([{ line, code: 'too_many_parties', message }])
  }
  return plan
}

function keyOf(date: string, externalId: string | null, teeTimeMs: number, startHole: number | null): string {
  return JSON.stringify(externalId === null ? [date, teeTimeMs, startHole] : [date, externalId])
}

function withFields(party: Party, { fields, teeTimeMs }: SheetRow, nowMs: number): Party {
  const { players, start_hole, holes, note, external_id } = fields
  return {
    ...party,
    teeTimeMs,
    players: players === undefined ? party.players : (players ?? []),
    startHole: start_hole === undefined ? party.startHole : start_hole,
    holes: holes === undefined ? party.holes : (holes ?? 18),
    note: note === undefined ? party.note : note || null,
    externalId: external_id ?? party.externalId,
    updatedAtMs: nowMs,
  }
}

function isSame(before: Party, after: Party): boolean {
  return JSON.stringify(before) === JSON.stringify({ ...after, updatedAtMs: before.updatedAtMs })
}

function invalidSheet(errors: LineError[]): InvalidRequestError {
  const [first] = errors
  const message = `nothing was imported, ${errors.length} errors; line ${first?.line}: ${first?.message}`
  return new InvalidRequestError('invalid_import', message, errors.slice(0, ERRORS_SHOWN))
}
