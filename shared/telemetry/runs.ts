import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { isHardwareId } from '#shared/ids.ts'
import { DamagedBlockError } from './damaged-block.ts'
import { FRAME_BYTES, FRAME_HEAD_BYTES, finishFrame, openFrame } from './part-frame.ts'
import { findFault } from './record-faults.ts'
import { BATTERY, type BatteryRecords, GPS, type GpsRecords } from './records.ts'
import { MAX_NUMBER_BYTES, VarintReader, VarintWriter } from './varints.ts'

// The content of the frame (part-frame.ts) is deflated (RFC 1951). Inflated it is, written as in varints.ts:
//   the number of runs
//   the hardware id of each run
//   of each run twice its number of records, plus 1 for battery
//   the times of all runs as one column
//   the latitudes of all GPS runs as one column, then their longitudes, then their speeds
//   the voltages of all battery runs as one column
// Runs ascend by hardware id, GPS before battery.
const FORMAT = { letter: 'r', version: 1 } as const

/** Maximum number of records over all runs: parts of an exported file have up to 200,000. */
const MAX_RECORDS = 250_000
/** Maximum number of runs: each takes hundreds of bytes of memory in addition to its records. */
const MAX_RUNS = 50_000

const MAX_ID_BYTES = 64
/** At least a time and a voltage, at most a time and three values of a position. */
const MIN_RECORD_NUMBERS = 2
const MAX_RECORD_NUMBERS = 4

/** Errors of zlib that indicate damaged bytes; others, such as too little memory, do not. */
const INFLATE_FAULTS = ['Z_BUF_ERROR', 'Z_DATA_ERROR', 'ERR_BUFFER_TOO_LARGE', 'ERR_TRAILING_JUNK_AFTER_STREAM_END']

/** Records of one device and kind. */
export type TelemetryRun =
  | { readonly hardwareId: string; readonly stream: 'gps'; readonly records: GpsRecords }
  | { readonly hardwareId: string; readonly stream: 'battery'; readonly records: BatteryRecords }

/**
 * Encodes short runs, of one device or many. Throws `RangeError` for content that no block can hold (no records, times
 * not ascending, values that violate the rules of the kind), and for more than 250,000 records or 50,000 runs.
 */
export function encodeRuns(runs: readonly TelemetryRun[]): Uint8Array {
  const sorted = runs.toSorted(compareRuns)
  const records = sorted.reduce((sum, run) => sum + run.records.atMs.length, 0)
  const fault = findSizeFault(sorted.length, records) ?? findRunFault(sorted)
  if (fault !== undefined) throw new RangeError(fault)
  const out = new VarintWriter(mostContentBytes(sorted.length, records))
  out.write(sorted.length)
  for (const { hardwareId } of sorted) out.writeText(hardwareId)
  for (const run of sorted) out.write(run.records.atMs.length * 2 + (run.stream === 'battery' ? 1 : 0))
  for (const column of columnsOf(sorted)) out.writeColumn(column)
  const content = deflateRawSync(out.written)
  const bytes = new Uint8Array(FRAME_BYTES + content.length)
  bytes.set(content, FRAME_HEAD_BYTES)
  return finishFrame(FORMAT, bytes, FRAME_HEAD_BYTES + content.length)
}

/**
 * Decodes the output of `encodeRuns`: ordered by hardware id, GPS before battery. Throws `DamagedBlockError`, or
 * `NewerBlockError` for a later version. Limits memory to `most` records in 50,000 runs, whatever the inflated size.
 */
export function decodeRuns(bytes: Uint8Array, most = MAX_RECORDS): TelemetryRun[] {
  const reader = new VarintReader(inflate(openFrame(FORMAT, bytes), Math.min(most, MAX_RECORDS)))
  const length = reader.read()
  refuse(findSizeFault(length, 0))
  const ids = Array.from({ length }, () => reader.readText())
  const heads = ids.map(() => reader.read())
  const records = heads.reduce((sum, head) => sum + Math.floor(head / 2), 0)
  refuse(findSizeFault(length, records))
  const { bytesLeft } = reader
  if (records * MIN_RECORD_NUMBERS > bytesLeft) refuse(`${records} records in ${bytesLeft} bytes`)
  const runs = ids.map((hardwareId, i): TelemetryRun => {
    const head = heads[i] ?? 0
    const count = Math.floor(head / 2)
    return head % 2 === 0
      ? { hardwareId, stream: 'gps', records: GPS.allocate(count) }
      : { hardwareId, stream: 'battery', records: BATTERY.allocate(count) }
  })
  for (const column of columnsOf(runs)) reader.readColumn(column)
  if (reader.bytesLeft > 0) refuse('bytes after the last column')
  refuse(findRunFault(runs))
  return runs
}

function inflate(content: Uint8Array, most: number): Buffer {
  try {
    const maxOutputLength = mostContentBytes(Math.min(MAX_RUNS, most), most)
    return inflateRawSync(content, { maxOutputLength, rejectGarbageAfterEnd: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && INFLATE_FAULTS.includes(`${error.code}`))) throw error
    throw new DamagedBlockError('impossible_content', `its content cannot be inflated: ${error.message}`)
  }
}

function mostContentBytes(runs: number, records: number): number {
  const numbers = 1 + runs * 2 + records * MAX_RECORD_NUMBERS
  return runs * MAX_ID_BYTES + numbers * MAX_NUMBER_BYTES
}

/** Columns of all runs in the order in which they are written. */
function columnsOf(runs: readonly TelemetryRun[]): (readonly (Float64Array | Int32Array)[])[] {
  const gps = runs.filter((run) => run.stream === 'gps').map(({ records }) => records)
  const battery = runs.filter((run) => run.stream === 'battery').map(({ records }) => records)
  return [
    runs.map(({ records }) => records.atMs),
    gps.map(({ latE7 }) => latE7),
    gps.map(({ longE7 }) => longE7),
    gps.map(({ speedMilliKmh }) => speedMilliKmh),
    battery.map(({ voltageMv }) => voltageMv),
  ]
}

function findSizeFault(runs: number, records: number): string | undefined {
  if (runs > MAX_RUNS) return `more than ${MAX_RUNS} runs`
  return records > MAX_RECORDS ? `more than ${MAX_RECORDS} records` : undefined
}

function findRunFault(runs: readonly TelemetryRun[]): string | undefined {
  for (const [i, run] of runs.entries()) {
    const { hardwareId, stream, records } = run
    if (compareRuns(runs[i - 1] ?? run, run) > 0) return 'runs that do not ascend'
    if (!isHardwareId(hardwareId)) return 'an invalid hardware id'
    const fault = stream === 'gps' ? findFault(GPS, records) : findFault(BATTERY, records)
    if (fault !== undefined) return fault
  }
  return undefined
}

function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new DamagedBlockError('impossible_content', fault)
}

function compareRuns(one: TelemetryRun, other: TelemetryRun): number {
  if (one.hardwareId !== other.hardwareId) return one.hardwareId < other.hardwareId ? -1 : 1
  if (one.stream !== other.stream) return one.stream === 'gps' ? -1 : 1
  return 0
}
