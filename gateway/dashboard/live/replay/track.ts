import type { CartTrackJson } from '#shared/wire/tracks.ts'

type DeviceColumns = CartTrackJson['devices'][number]

/** Positions of a device, oldest first. */
export interface Track {
  readonly atMs: Float64Array
  /** 1e-7 degrees. */
  readonly latE7: Int32Array
  readonly longE7: Int32Array
  /** km/h; NaN if the device reported none. */
  readonly speedKmh: Float32Array
}

/** Voltages of a device, oldest first. */
export interface VoltageTrack {
  readonly atMs: Float64Array
  readonly voltageV: Float32Array
}

/** Decodes the positions from the gateway's columns of differences. */
export function trackOf({ at, lat, long, speed }: DeviceColumns['gps'], fromMs: number): Track {
  return {
    atMs: summed(at, Float64Array, fromMs),
    latE7: summed(lat, Int32Array),
    longE7: summed(long, Int32Array),
    speedKmh: Float32Array.from(summed(speed, Int32Array), (milliKmh) => (milliKmh < 0 ? Number.NaN : milliKmh / 1000)),
  }
}

export function voltagesOf({ at, voltage }: DeviceColumns['battery'], fromMs: number): VoltageTrack {
  return {
    atMs: summed(at, Float64Array, fromMs),
    voltageV: Float32Array.from(summed(voltage, Int32Array), (milliV) => milliV / 1000),
  }
}

/** Returns the index of the last of the ascending times that is not after this one; -1 if all are later. */
export function lastIndexAt(atMs: Float64Array, momentMs: number): number {
  let low = 0
  let high = atMs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((atMs[middle] ?? Number.POSITIVE_INFINITY) <= momentMs) low = middle + 1
    else high = middle
  }
  return low - 1
}

function summed<Column extends Float64Array | Int32Array>(
  differences: readonly number[],
  Kind: new (length: number) => Column,
  start = 0,
): Column {
  const column = new Kind(differences.length)
  let sum = start
  for (const [i, difference] of differences.entries()) {
    sum += difference
    column[i] = sum
  }
  return column
}
