/** Telemetry of one device as columns of equal length; times strictly ascending. */
export interface Records {
  readonly atMs: Float64Array
}

export interface GpsRecords extends Records {
  /** 1e-7 degree. */
  readonly latE7: Int32Array
  readonly longE7: Int32Array
  /** 0.001 km/h, or `NO_SPEED`. */
  readonly speedMilliKmh: Int32Array
}

export interface BatteryRecords extends Records {
  readonly voltageMv: Int32Array
}

/** Value of `speedMilliKmh` if the device reported none: a speed is never negative. */
export const NO_SPEED = -1

/** Permitted values of a column other than the time. */
export interface ColumnRule {
  readonly name: string
  readonly min: number
  readonly max: number
  /** True if -1 means no value; `min` is 0 then. */
  readonly isOptional: boolean
}

/** Kind of telemetry: everything that differs between kinds, so that code for records exists once. */
export interface RecordKind<R extends Records> {
  readonly name: 'gps' | 'battery'
  /** Rules of the columns without the time, in the order of `columnsOf`. */
  readonly rules: readonly ColumnRule[]
  columnsOf(records: R): readonly Int32Array[]
  allocate(count: number): R
  /** Returns a view of the records from one index up to another. */
  view(records: R, from: number, to: number): R
}

const MAX_INT32 = 2 ** 31 - 1

export const GPS: RecordKind<GpsRecords> = {
  name: 'gps',
  rules: [
    { name: 'latE7', min: -900_000_000, max: 900_000_000, isOptional: false },
    { name: 'longE7', min: -1_800_000_000, max: 1_800_000_000, isOptional: false },
    { name: 'speedMilliKmh', min: 0, max: MAX_INT32, isOptional: true },
  ],
  columnsOf: ({ latE7, longE7, speedMilliKmh }) => [latE7, longE7, speedMilliKmh],
  allocate: (count) => ({
    atMs: new Float64Array(count),
    latE7: new Int32Array(count),
    longE7: new Int32Array(count),
    speedMilliKmh: new Int32Array(count),
  }),
  view: ({ atMs, latE7, longE7, speedMilliKmh }, from, to) => ({
    atMs: atMs.subarray(from, to),
    latE7: latE7.subarray(from, to),
    longE7: longE7.subarray(from, to),
    speedMilliKmh: speedMilliKmh.subarray(from, to),
  }),
}

export const BATTERY: RecordKind<BatteryRecords> = {
  name: 'battery',
  rules: [{ name: 'voltageMv', min: 0, max: MAX_INT32, isOptional: false }],
  columnsOf: ({ voltageMv }) => [voltageMv],
  allocate: (count) => ({ atMs: new Float64Array(count), voltageMv: new Int32Array(count) }),
  view: ({ atMs, voltageMv }, from, to) => ({
    atMs: atMs.subarray(from, to),
    voltageMv: voltageMv.subarray(from, to),
  }),
}

/** Index of the first of the ascending times in [from, to) that is not before `earliestMs`; else `to`. */
export function indexAtOrAfter(atMs: Float64Array, earliestMs: number, from = 0, to: number = atMs.length): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((atMs[middle] ?? Number.POSITIVE_INFINITY) < earliestMs) low = middle + 1
    else high = middle
  }
  return low
}
