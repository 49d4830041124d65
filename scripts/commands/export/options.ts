import { type CommandIo, UsageError } from '#scripts/cli/command.ts'
import { formatOfName, TRACK_FORMATS, type TrackFormat } from '#scripts/cli/formats.ts'
import {
  choice,
  GATEWAY_HELP,
  GATEWAY_OPTIONS,
  type GatewayOptions,
  gatewayOptions,
  parseCommandLine,
} from '#scripts/cli/gateway-options.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { parseIso, toIso } from '#shared/time.ts'

/** What is asked of each device; of battery only what the API writes. */
export type ExportedHistory = { from: string; to: string } & (
  | { stream: 'gps'; format: TrackFormat }
  | { stream: 'battery'; format: 'csv' | 'ndjson' }
)

export interface ExportOptions {
  /** Null for all. */
  device: string | null
  history: ExportedHistory
  /** A file, `-`, or with all devices a folder. */
  out: string
  isForced: boolean
  isQuiet: boolean
  gateway: GatewayOptions
}

export const EXPORT_HELP = `Writes the history of a device into a file. The gateway must be running.

  npm run export -- --device ID --out FILE [options]
  npm run export -- --all --format FORMAT --out FOLDER [options]

  --device ID         whose history it is: hardware_id or short_id
  --all               all devices that the key may see, one file each
  --out FILE          FILE is there once it is complete; - is standard output (with npm run --silent)
  --format FORMAT     gpx, csv, ndjson or geojson; of battery csv or ndjson  (by the name of the file)
  --stream STREAM     gps or battery                (gps)
  --from TIME         ISO 8601, included; UTC unless it has an offset        (the beginning)
  --to TIME           included                      (the end)
  --force             write over files that are there

${GATEWAY_HELP}
The exit code is 0 when everything is written, else 1.
`

const SPECIFICATION = {
  ...GATEWAY_OPTIONS,
  device: { type: 'string' },
  all: { type: 'boolean', default: false },
  out: { type: 'string' },
  format: { type: 'string' },
  stream: { type: 'string', default: 'gps' },
  from: { type: 'string', default: '1970-01-01' },
  to: { type: 'string', default: '9999-12-31' },
  force: { type: 'boolean', default: false },
} as const

const STREAMS: readonly TelemetryStream[] = ['gps', 'battery']
const BATTERY_FORMATS = ['csv', 'ndjson'] as const

/** Reads the command line; undefined asks for the help text. Throws `UsageError`. */
export function parseExportOptions(
  argv: readonly string[],
  env: CommandIo['env'],
): ExportOptions | undefined {
  const { values } = parseCommandLine({ args: [...argv], options: SPECIFICATION })
  if (values.help) return undefined
  const { out, device } = values
  if ((device === undefined) !== values.all) throw new UsageError('either --device ID or --all is needed')
  if (out === undefined) throw new UsageError('--out is needed: a file, or a folder with --all')
  if (out === '-' && values.all) throw new UsageError('--out must be a folder with --all')
  const [fromMs, toMs] = [time('from', values.from), time('to', values.to)]
  if (fromMs > toMs) throw new UsageError('--from must not be after --to')
  const range = { from: toIso(fromMs), to: toIso(toMs) }
  const format = values.format ?? formatOfName(out)
  if (format === undefined) throw new UsageError(`--format is needed: ${TRACK_FORMATS.join(', ')}`)
  const stream = choice('stream', values.stream, STREAMS)
  return {
    device: device ?? null,
    history:
      stream === 'gps'
        ? { ...range, stream, format: choice('format', format, TRACK_FORMATS) }
        : { ...range, stream, format: choice('format', format, BATTERY_FORMATS) },
    out,
    isForced: values.force,
    isQuiet: values.quiet,
    gateway: gatewayOptions(values, env),
  }
}

function time(name: string, text: string): number {
  const atMs = parseIso(text)
  if (atMs === undefined)
    throw new UsageError(`--${name} must be a time such as 2026-05-01T08:30:00Z, not "${text}"`)
  return atMs
}
