import { FRAME_HEAD_BYTES, openFrame, sealFrame } from './part-frame.ts'
import type { BatteryRecords, GpsRecords } from './records.ts'
import { RunReader } from './run-reader.ts'
import { RunWriter } from './run-writer.ts'

/** Records of one device and kind. */
export type TelemetryRun =
  | { readonly hardwareId: string; readonly stream: 'gps'; readonly records: GpsRecords }
  | { readonly hardwareId: string; readonly stream: 'battery'; readonly records: BatteryRecords }

const FORMAT = { letter: 'r', version: 1 } as const

/**
 * Writes many short runs, of the same device or of many, small enough that compressing them gains nothing.
 * Throws `RangeError` for what no telemetry block can hold: no records, times that do not ascend, values against the
 * rules of the kind; and for more than `MAX_RUN_RECORDS` records or `MAX_RUNS` runs.
 */
export function encodeRuns(runs: readonly TelemetryRun[]): Uint8Array {
  const writer = new RunWriter(FRAME_HEAD_BYTES, runs.length)
  for (const run of runs.toSorted(compareRuns)) writer.write(run)
  const { bytes, end } = writer.finish()
  return sealFrame(FORMAT, bytes, end)
}

/**
 * Reads what `encodeRuns` wrote: runs come by hardware id, then GPS before battery.
 * Throws `DamagedBlockError` for anything impossible, or `NewerBlockError` for a later version. Takes no more memory
 * than the bytes can have records for, nor more than `MAX_RUN_RECORDS` and `MAX_RUNS` take.
 */
export function decodeRuns(bytes: Uint8Array): TelemetryRun[] {
  const reader = new RunReader(openFrame(FORMAT, bytes))
  return reader.readAll()
}

function compareRuns(one: TelemetryRun, other: TelemetryRun): number {
  if (one.hardwareId !== other.hardwareId) return one.hardwareId < other.hardwareId ? -1 : 1
  if (one.stream !== other.stream) return one.stream === 'gps' ? -1 : 1
  return 0
}
