import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type CommandIo, UsageError } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { formatOfName, TRACK_FORMATS, type TrackFormat } from '#scripts/cli/formats.ts'
import { createPatientCommandLine, type GatewayOptions, requireKey } from '#scripts/cli/gateway-options.ts'
import { parseIso, toIso } from '#shared/time.ts'

/** Requested history of each device; for battery only the formats that the API writes. */
export type ExportedHistory = { from: string; to: string } & (
  | { stream: 'gps'; format: TrackFormat }
  | { stream: 'battery'; format: 'csv' | 'ndjson' }
)

export interface ExportOptions {
  /** Null selects all devices. */
  device: string | null
  history: ExportedHistory
  /** File, `-`, or, for all devices, a folder. */
  out: string
  isForced: boolean
  isQuiet: boolean
  gateway: GatewayOptions
}

/** Reads the command line. Throws `UsageError`. */
export function parseExportOptions(argv: readonly string[], io: CommandIo): ExportOptions {
  const command = createPatientCommandLine('export', io)
    .description(
      'Writes the history of a device into a file. The gateway must be running. The exit code is 0 when ' +
        'everything is ' +
        'written, else 1.',
    )
    .option('--device <id>', 'whose history it is: hardware_id or short_id')
    .addOption(new Option('--all', 'all devices that the key may see, one file each').conflicts('device'))
    .requiredOption(
      '--out <file>',
      'the file to write, there once it is complete; - is standard output (from a clone with npm run --silent); ' +
        'a folder with --all',
    )
    .addOption(
      new Option('--format <format>', 'by default from the name of the file; csv or ndjson for battery').choices(
        TRACK_FORMATS,
      ),
    )
    .addOption(new Option('--stream <stream>').choices(['gps', 'battery'] as const).default('gps' as const))
    .option('--from <time>', 'ISO 8601, included; UTC unless it has an offset (by default the beginning)', time)
    .option('--to <time>', 'included (by default the end)', time)
    .option('--force', 'write over files that are there')
  const { device, all, out, stream, url, retryFor, ...given } = parseCommandLine(command, argv).opts()
  if (device === undefined && !all) throw new UsageError('either --device ID or --all is needed')
  if (out === '-' && all) throw new UsageError('--out must be a folder with --all')
  const { from = time('1970-01-01'), to = time('9999-12-31') } = given
  if (from > to) throw new UsageError('--from must not be after --to')
  const format = given.format ?? formatOfName(out)
  if (format === undefined) throw new UsageError(`--format is needed: ${TRACK_FORMATS.join(', ')}`)
  return {
    device: device ?? null,
    history: { from: toIso(from), to: toIso(to), ...streamIn(stream, format) },
    out,
    isForced: given.force ?? false,
    isQuiet: given.quiet ?? false,
    gateway: { url, apiKey: requireKey(given, io), retryForS: retryFor },
  }
}

function streamIn(stream: 'gps' | 'battery', format: TrackFormat) {
  if (stream === 'gps') return { stream, format }
  if (format === 'csv' || format === 'ndjson') return { stream, format }
  throw new UsageError(`--format of battery must be csv or ndjson, not ${format}`)
}

function time(text: string): number {
  const atMs = parseIso(text)
  if (atMs === undefined) throw new InvalidArgumentError('It must be a time such as 2026-05-01T08:30:00Z.')
  return atMs
}
