import { AppError, type LineError } from '#shared/errors.ts'
import type { CsvRow } from '#shared/history/csv-rows.ts'
import { CART_KINDS, type CartKind } from '#shared/site/settings.ts'
import { IMPORT_COLUMNS, IMPORT_LINES_MAX, type ImportColumn, importLineSchema } from '#shared/wire/device-import.ts'
import { columnsOf, csvRowsOf, QUOTED_MAX } from '../csv-file.ts'

/** Device as described by a line of the file; empty fields are undefined. */
export interface DeviceLine {
  line: number
  hardwareId: string
  deviceType: string | undefined
  name: string | undefined
  cart: string | undefined
  /** Group id or name. */
  group: string | undefined
  /** Kind of its cart. */
  kind: CartKind | undefined
}

/** Valid lines, and the errors of all others. */
interface DeviceFile {
  lines: DeviceLine[]
  errors: LineError[]
}

/**
 * Reads a list of devices as CSV, step by step; empty or missing fields leave a device unchanged. Throws
 * `missing_column`, `unknown_column`, `invalid_import` and, over 5,000 devices, `payload_too_large`.
 */
export function* readDeviceFile(bytes: Uint8Array): Generator<void, DeviceFile> {
  const [header, ...rows] = yield* csvRowsOf(bytes, IMPORT_LINES_MAX)
  const columns = columnsOf(header?.fields ?? [], COLUMN_NAMES, IMPORT_COLUMNS)
  const file: DeviceFile = { lines: [], errors: [] }
  if (rows.length > IMPORT_LINES_MAX)
    throw new AppError('payload_too_large', 'payload_too_large', `use at most ${IMPORT_LINES_MAX} devices a file`)
  const known = new Map<string, number>()
  for (const row of rows) {
    yield
    const found = readLine(row, columns)
    if ('code' in found) {
      file.errors.push(found)
      continue
    }
    const earlier = known.get(found.hardwareId)
    if (earlier === undefined) {
      known.set(found.hardwareId, found.line)
      file.lines.push(found)
    } else {
      const message = `hardware_id ${found.hardwareId} is already in line ${earlier}`
      file.errors.push({ line: found.line, code: 'duplicate', message, ...quoted('hardware_id', found.hardwareId) })
    }
  }
  return file
}

/** Column names used by people and spreadsheets, in the form of `columnKey`. */
const COLUMN_NAMES: Readonly<Record<string, ImportColumn>> = {
  hardwareid: 'hardware_id',
  hardwarekennung: 'hardware_id',
  kennung: 'hardware_id',
  deviceid: 'hardware_id',
  geräteid: 'hardware_id',
  gerätekennung: 'hardware_id',
  gerät: 'hardware_id',
  device: 'hardware_id',
  id: 'hardware_id',
  devicetype: 'device_type',
  type: 'device_type',
  gerätetyp: 'device_type',
  typ: 'device_type',
  art: 'device_type',
  geräteart: 'device_type',
  name: 'name',
  bezeichnung: 'name',
  cart: 'cart',
  cartnumber: 'cart',
  cartno: 'cart',
  cartnummer: 'cart',
  cartnr: 'cart',
  wagen: 'cart',
  group: 'group',
  gruppe: 'group',
  kind: 'kind',
  fahrzeugart: 'kind',
}

/** Returns the place of an error, with the text found there. */
export function quoted(column: ImportColumn, value: string): { column: ImportColumn; value?: string } {
  return { column, value: value.slice(0, QUOTED_MAX) }
}

function readLine({ line, fields }: CsvRow, columns: readonly (ImportColumn | undefined)[]): DeviceLine | LineError {
  const wrong = (code: string, message: string, place?: ReturnType<typeof quoted>): LineError => ({
    line,
    code,
    message,
    ...place,
  })
  if (fields === null) return wrong('invalid', 'the quotation marks are not balanced')
  const values: { [Column in ImportColumn]?: string | undefined } = {}
  for (const [i, field] of fields.entries()) {
    const value = field.trim()
    const column = columns[i]
    if (value === '') continue
    if (column === undefined) return wrong('invalid', `field ${i + 1} has no column`)
    values[column] = value
  }
  if (values.kind !== undefined) values.kind = values.kind.toLowerCase()
  if (!columns.includes('device_type') && !CART_KINDS.some((kind) => kind === values.kind)) {
    // once the only name for the type of the device
    values.device_type = values.kind
    values.kind = undefined
  }
  if (values.hardware_id === undefined) return wrong('missing', 'hardware_id is empty', { column: 'hardware_id' })
  const checked = importLineSchema.safeParse(values)
  if (!checked.success) {
    const [issue] = checked.error.issues
    const column = IMPORT_COLUMNS.find((one) => one === issue?.path[0])
    return wrong('invalid', `${column}: ${issue?.message}`, column && quoted(column, values[column] ?? ''))
  }
  return {
    line,
    hardwareId: checked.data.hardware_id,
    deviceType: values.device_type,
    name: checked.data.name ?? undefined,
    cart: checked.data.cart ?? undefined,
    group: values.group,
    kind: checked.data.kind,
  }
}
