import type { RecordKind, Records } from '../../shared/telemetry-records.ts'
import type { TelemetryBatch } from './telemetry-batch.ts'

/** Samples grouped by device without moving them: each device has a part of `order`, in ascending time. */
export interface DeviceSamples {
  readonly deviceId: number
  /** Indices of its samples, by time; those of equal times as they came. */
  readonly order: Uint32Array
}

/** Groups the first `count` samples by device, in ascending order of the devices. */
export function groupByDevice(samples: TelemetryBatch, count: number): DeviceSamples[] {
  const { deviceId, atMs } = samples
  const counts = new Map<number, number>()
  for (let i = 0; i < count; i++) {
    const id = deviceId[i] ?? 0
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  const order = new Uint32Array(count)
  const ends = new Map<number, number>()
  const groups: DeviceSamples[] = []
  let start = 0
  for (const [id, size] of [...counts].sort(([a], [b]) => a - b)) {
    ends.set(id, start)
    groups.push({ deviceId: id, order: order.subarray(start, start + size) })
    start += size
  }
  for (let i = 0; i < count; i++) {
    const id = deviceId[i] ?? 0
    const end = ends.get(id) ?? 0
    order[end] = i
    ends.set(id, end + 1)
  }
  for (const group of groups) sortByTime(group.order, atMs)
  return groups
}

/** The records a device's samples have of a stream; of those with equal times the one that came first. */
export function recordsOf<R extends Records>(
  kind: RecordKind<R>,
  streamBit: number,
  samples: TelemetryBatch,
  order: Uint32Array,
): R {
  const { atMs, streams } = samples
  const picked = new Uint32Array(order.length)
  let count = 0
  let lastMs = -1
  for (let i = 0; i < order.length; i++) {
    const index = order[i] ?? 0
    const time = atMs[index] ?? 0
    if (((streams[index] ?? 0) & streamBit) === 0 || time === lastMs) continue
    picked[count++] = index
    lastMs = time
  }
  const records = kind.allocate(count)
  for (let i = 0; i < count; i++) records.atMs[i] = atMs[picked[i] ?? 0] ?? 0
  // a batch has the columns of every kind, under the same names
  const columns = kind.columnsOf(samples as TelemetryBatch & R)
  for (const [c, column] of kind.columnsOf(records).entries()) {
    const from = columns[c]
    if (from !== undefined) copyPicked(from, picked, column)
  }
  return records
}

function copyPicked(from: Int32Array, picked: Uint32Array, into: Int32Array): void {
  for (let i = 0; i < into.length; i++) into[i] = from[picked[i] ?? 0] ?? 0
}

function sortByTime(order: Uint32Array, atMs: Float64Array): void {
  let lastMs = -1
  for (let i = 0; i < order.length; i++) {
    const time = atMs[order[i] ?? 0] ?? 0
    if (time < lastMs) {
      order.sort((a, b) => (atMs[a] ?? 0) - (atMs[b] ?? 0) || a - b)
      return
    }
    lastMs = time
  }
}
