import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type CommandIo, UsageError } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { TRACK_FORMATS, type TrackFormat } from '#scripts/cli/formats.ts'
import { createPatientCommandLine, type GatewayOptions, requireKey } from '#scripts/cli/gateway-options.ts'
import { FIELD_NAMES, FIELDS, type FieldMapping, kmhIn } from './fields.ts'

export interface ImportOptions {
  files: string[]
  /** Null: named in each record. */
  device: string | null
  /** Null: by the name of the file. */
  format: TrackFormat | null
  /** Null for a dry run, which needs none. */
  gateway: GatewayOptions | null
  mapping: FieldMapping
  delimiter: string | undefined
  /** Undefined: as declared in the file, else UTF-8. */
  encoding: string | undefined
  isUtc: boolean
  /** Undefined: as stated in the file, else km/h. */
  kmhPerSpeedUnit: number | undefined
  isQuiet: boolean
}

/** Reads the command line. Throws `UsageError`. */
export function parseImportOptions(argv: readonly string[], io: CommandIo): ImportOptions {
  const command = createPatientCommandLine('import', io)
    .description(
      'Adds the tracks of files to the history of a device. The gateway must be running. What it has already is not ' +
        'stored again, so an import that was interrupted is finished by running it again. The exit code is 0 when ' +
        'everything usable is stored, else 1.',
    )
    .argument('<file...>', 'GPX, CSV, NDJSON or GeoJSON; - is standard input')
    .option('--device <id>', 'whose track it is: hardware_id or short_id')
    .addOption(
      new Option('--by-hardware-id', 'instead: each record names its device in hardware_id').conflicts('device'),
    )
    .addOption(new Option('--format <format>', 'by default from the name of the file').choices(TRACK_FORMATS))
    .option(
      '--column <field=name>',
      'a column or JSON field with a name of its own; may be repeated. FIELD is time, lat, long, speed, fix, ' +
        'battery_voltage or hardware_id',
      addToMapping,
    )
    .option(
      '--delimiter <char>',
      'between the fields of CSV, a character or tab (by default from a first line such as sep=;, else the ' +
        'one the header has most of: , ; or tab)',
      delimiter,
    )
    .option(
      '--encoding <name>',
      'such as windows-1252 (by default utf-8, utf-16, or as declared in the first line of a GPX file)',
      encoding,
    )
    .option('--utc', 'times without a zone are UTC (without this option such records are dropped)')
    .option(
      '--speed-unit <unit>',
      'unit of speeds: km/h, m/s, mph or kn (by default from the name of the field, such as speed_kn, else ' +
        'km/h); GPX always has m/s',
      speedUnit,
    )
    .option('--dry-run', 'read and report, send nothing')
  const parsed = parseCommandLine(command, argv)
  const [files] = parsed.processedArgs
  const { device, byHardwareId, format, dryRun, url, retryFor, ...given } = parsed.opts()
  if (device === undefined && !byHardwareId) throw new UsageError('either --device ID or --by-hardware-id is needed')
  if (format === undefined && files.includes('-')) throw new UsageError('--format is needed for standard input')
  return {
    files,
    device: device ?? null,
    format: format ?? null,
    gateway: dryRun ? null : { url, apiKey: requireKey(given, io), retryForS: retryFor },
    mapping: given.column ?? {},
    delimiter: given.delimiter,
    encoding: given.encoding,
    isUtc: given.utc ?? false,
    kmhPerSpeedUnit: given.speedUnit,
    isQuiet: given.quiet ?? false,
  }
}

function addToMapping(column: string, mapping: FieldMapping = {}): FieldMapping {
  const at = column.indexOf('=')
  const [name, own] = [column.slice(0, at), column.slice(at + 1)]
  // the name in the API, or that of the command line
  const field = FIELDS.find((one) => one === name || FIELD_NAMES[one].includes(name))
  if (at < 1 || own === '' || field === undefined)
    throw new InvalidArgumentError('It must be FIELD=NAME such as time=When.')
  return { ...mapping, [field]: own }
}

function delimiter(text: string): string {
  if (text === 'tab' || text === '\\t') return '\t'
  if (text.length !== 1 || '"\r\n'.includes(text)) throw new InvalidArgumentError('It must be one character or tab.')
  return text
}

function speedUnit(text: string): number {
  const kmh = kmhIn(text)
  if (kmh === undefined) throw new InvalidArgumentError('It must be km/h, m/s, mph or kn.')
  return kmh
}

function encoding(label: string): string {
  try {
    return new TextDecoder(label).encoding
  } catch {
    throw new InvalidArgumentError('It must be the name of an encoding.')
  }
}
