import type { CommandIo } from '#scripts/cli/command.ts'
import { UsageError } from '#scripts/cli/command.ts'
import { TRACK_FORMATS, type TrackFormat } from '#scripts/cli/formats.ts'
import {
  choice,
  GATEWAY_HELP,
  GATEWAY_OPTIONS,
  type GatewayOptions,
  gatewayOptions,
  parseCommandLine,
} from '#scripts/cli/gateway-options.ts'
import { FIELD_NAMES, FIELDS, type FieldMapping } from './fields.ts'

export interface ImportOptions {
  files: string[]
  /** Null: each record says it. */
  device: string | null
  /** Null: by the name of the file. */
  format: TrackFormat | null
  /** Null for a dry run, which needs none. */
  gateway: GatewayOptions | null
  mapping: FieldMapping
  delimiter: string | undefined
  encoding: string
  isUtc: boolean
  kmhPerSpeedUnit: number
  isQuiet: boolean
}

export const IMPORT_HELP = `Adds the tracks of files to the history of a device. The gateway must be running.

  npm run import -- --device ID [options] FILE…

FILE is GPX, CSV, NDJSON or GeoJSON; - is standard input. What is there already is not stored again,
so whatever was interrupted is finished by running it again.

  --device ID         whose track it is: hardware_id or short_id
  --by-hardware-id    instead: each record names its device in hardware_id
  --format FORMAT     gpx, csv, ndjson or geojson   (by the name of the file)
  --column FIELD=NAME a column or JSON field with a name of its own; may be repeated.
                      FIELD is time, lat, long, speed, battery_voltage or hardware_id
  --delimiter CHAR    between the fields of CSV; tab is one  (the one the header has most of: , ; or tab)
  --encoding NAME     such as windows-1252          (utf-8, or utf-16 with a byte order mark)
  --utc               times without a zone are UTC  (such records are dropped)
  --speed-unit UNIT   km/h, m/s or mph; GPX always has m/s  (km/h)
  --dry-run           read and report, send nothing

${GATEWAY_HELP}
The exit code is 0 when everything usable is stored, else 1.
`

const KMH_PER_UNIT: Readonly<Record<string, number>> = { 'km/h': 1, 'm/s': 3.6, mph: 1.609344 }

const SPECIFICATION = {
  ...GATEWAY_OPTIONS,
  device: { type: 'string' },
  'by-hardware-id': { type: 'boolean', default: false },
  format: { type: 'string' },
  column: { type: 'string', multiple: true, default: [] as string[] },
  delimiter: { type: 'string' },
  encoding: { type: 'string', default: 'utf-8' },
  utc: { type: 'boolean', default: false },
  'speed-unit': { type: 'string', default: 'km/h' },
  'dry-run': { type: 'boolean', default: false },
} as const

/** Reads the command line; undefined asks for the help text. Throws `UsageError`. */
export function parseImportOptions(
  argv: readonly string[],
  env: CommandIo['env'],
): ImportOptions | undefined {
  const { values, positionals } = parseCommandLine({
    args: [...argv],
    options: SPECIFICATION,
    allowPositionals: true,
  })
  if (values.help) return undefined
  if (positionals.length === 0) throw new UsageError('a file is needed, or - for standard input')
  if ((values.device === undefined) !== values['by-hardware-id'])
    throw new UsageError('either --device ID or --by-hardware-id is needed')
  const format = values.format === undefined ? null : choice('format', values.format, TRACK_FORMATS)
  if (format === null && positionals.includes('-'))
    throw new UsageError('--format is needed for standard input')
  const unit = choice('speed-unit', values['speed-unit'], Object.keys(KMH_PER_UNIT))
  return {
    files: positionals,
    device: values.device ?? null,
    format,
    gateway: values['dry-run'] ? null : gatewayOptions(values, env),
    mapping: mappingOf(values.column),
    delimiter: delimiterOf(values.delimiter),
    encoding: encodingOf(values.encoding),
    isUtc: values.utc,
    kmhPerSpeedUnit: KMH_PER_UNIT[unit] ?? 1,
    isQuiet: values.quiet,
  }
}

function mappingOf(columns: readonly string[]): FieldMapping {
  const mapping: FieldMapping = {}
  for (const column of columns) {
    const at = column.indexOf('=')
    const [name, own] = [column.slice(0, at), column.slice(at + 1)]
    // the name the API has for it, or ours
    const field = FIELDS.find((one) => one === name || FIELD_NAMES[one].includes(name))
    if (at < 1 || own === '' || field === undefined)
      throw new UsageError(`--column must be FIELD=NAME such as time=When, not "${column}"`)
    mapping[field] = own
  }
  return mapping
}

function delimiterOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (text === 'tab' || text === '\\t') return '\t'
  if (text.length !== 1 || '"\r\n'.includes(text))
    throw new UsageError(`--delimiter must be one character or tab, not "${text}"`)
  return text
}

function encodingOf(label: string): string {
  try {
    return new TextDecoder(label).encoding
  } catch {
    throw new UsageError(`--encoding ${label} is not known`)
  }
}
