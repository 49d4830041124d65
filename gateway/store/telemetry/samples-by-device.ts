import type { RecordKind, Records } from '#shared/telemetry/records.ts'
import type { TelemetryBatch } from './batch.ts'

type DeviceColumns = Omit<TelemetryBatch, 'deviceId'>

/** Samples of one device in ascending time; those of equal times in the order of arrival. */
export interface DeviceSamples {
  readonly deviceId: number
  readonly columns: DeviceColumns
  /** Index of each sample in the whole batch. */
  readonly places: Uint32Array
}

/** Groups the first `count` samples by device, in ascending order of the devices. */
export function groupByDevice(samples: TelemetryBatch, count: number): DeviceSamples[] {
  const { ids, sizes, groups } = findDevices(samples.deviceId, count)
  const order = ids.map((_, group) => group).sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0))
  const next = new Uint32Array(ids.length)
  let start = 0
  for (const group of order) {
    next[group] = start
    start += sizes[group] ?? 0
  }
  const places = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    const group = groups[i] ?? 0
    const to = next[group] ?? 0
    places[to] = i
    next[group] = to + 1
  }
  const spans = order.map((group) => {
    const to = next[group] ?? 0
    return { deviceId: ids[group] ?? 0, from: to - (sizes[group] ?? 0), to }
  })
  for (const { from, to } of spans) sortByTime(places.subarray(from, to), samples.atMs)
  // column by column, because the values of consecutive devices are adjacent in memory
  const columns: DeviceColumns = {
    count,
    atMs: pickNumbers(samples.atMs, places),
    latE7: pickIntegers(samples.latE7, places),
    longE7: pickIntegers(samples.longE7, places),
    speedMilliKmh: pickIntegers(samples.speedMilliKmh, places),
    voltageMv: pickIntegers(samples.voltageMv, places),
    streams: pickBits(samples.streams, places),
  }
  return spans.map(({ deviceId, from, to }) => ({
    deviceId,
    columns: viewOf(columns, from, to),
    places: places.subarray(from, to),
  }))
}

/** Devices in the order of their first sample, and the device of each sample. */
function findDevices(deviceId: Uint32Array, count: number) {
  const ids: number[] = []
  const sizes: number[] = []
  const groups = new Uint32Array(count)
  // device ids are small numbers: an array is three times as fast as a map
  const groupOf: number[] = []
  for (let i = 0; i < count; i++) {
    const id = deviceId[i] ?? 0
    let group = groupOf[id]
    if (group === undefined) {
      group = ids.length
      groupOf[id] = group
      ids.push(id)
      sizes.push(0)
    }
    groups[i] = group
    sizes[group] = (sizes[group] ?? 0) + 1
  }
  return { ids, sizes, groups }
}

/** Records of a stream from a device's samples; of equal times, the one that arrived first. */
export function recordsOf<R extends Records>(kind: RecordKind<R>, streamBit: number, { columns }: DeviceSamples): R {
  const { atMs, streams, count } = columns
  const picked = new Uint32Array(count)
  let size = 0
  let lastMs = -1
  for (let i = 0; i < count; i++) {
    const time = atMs[i] ?? 0
    if (((streams[i] ?? 0) & streamBit) === 0 || time === lastMs) continue
    picked[size++] = i
    lastMs = time
  }
  // a batch has the columns of every kind, with the same names
  const all = columns as DeviceColumns & R
  if (size === count) return kind.view(all, 0, count)
  const records = kind.allocate(size)
  records.atMs.set(pickNumbers(atMs, picked.subarray(0, size)))
  const sources = kind.columnsOf(all)
  for (const [c, column] of kind.columnsOf(records).entries()) {
    const from = sources[c]
    if (from !== undefined) column.set(pickIntegers(from, picked.subarray(0, size)))
  }
  return records
}

function viewOf(columns: DeviceColumns, from: number, to: number): DeviceColumns {
  return {
    count: to - from,
    atMs: columns.atMs.subarray(from, to),
    latE7: columns.latE7.subarray(from, to),
    longE7: columns.longE7.subarray(from, to),
    speedMilliKmh: columns.speedMilliKmh.subarray(from, to),
    voltageMv: columns.voltageMv.subarray(from, to),
    streams: columns.streams.subarray(from, to),
  }
}

function sortByTime(places: Uint32Array, atMs: Float64Array): void {
  let lastMs = -1
  for (let i = 0; i < places.length; i++) {
    const time = atMs[places[i] ?? 0] ?? 0
    if (time < lastMs) {
      places.sort((a, b) => (atMs[a] ?? 0) - (atMs[b] ?? 0) || a - b)
      return
    }
    lastMs = time
  }
}

// one function for each type of array: a loop that handles several types is slower for all of them

function pickNumbers(from: Float64Array, places: Uint32Array): Float64Array {
  const picked = new Float64Array(places.length)
  for (let i = 0; i < picked.length; i++) picked[i] = from[places[i] ?? 0] ?? 0
  return picked
}

function pickIntegers(from: Int32Array, places: Uint32Array): Int32Array {
  const picked = new Int32Array(places.length)
  for (let i = 0; i < picked.length; i++) picked[i] = from[places[i] ?? 0] ?? 0
  return picked
}

function pickBits(from: Uint8Array, places: Uint32Array): Uint8Array {
  const picked = new Uint8Array(places.length)
  for (let i = 0; i < picked.length; i++) picked[i] = from[places[i] ?? 0] ?? 0
  return picked
}
