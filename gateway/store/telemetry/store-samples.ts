import { NotFoundError } from '#shared/errors.ts'
import { isBlockTime } from '#shared/telemetry/block-header.ts'
import { BATTERY, type ColumnRule, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { allocateBatch, HAS_BATTERY, HAS_GPS, type TelemetryBatch } from './batch.ts'
import type { WriterTables } from './log-tail.ts'

/** Numbers of a sample in `AppendBatch.samples`: device id, at_ms, lat E7, long E7, speed milli km/h, voltage mV. */
export const SAMPLE_NUMBERS = 6

export const GPS_STORED = HAS_GPS
export const BATTERY_STORED = HAS_BATTERY

/** Adds what is new to the counts of a device; its values are those of `countsOf`. */
export const COUNT_RECORDS = `gps_count = gps_count + ?,
    gps_first_ms = min(ifnull(gps_first_ms, ?), ifnull(?, gps_first_ms)),
    gps_last_ms = max(ifnull(gps_last_ms, ?), ifnull(?, gps_last_ms)),
    battery_count = battery_count + ?,
    battery_first_ms = min(ifnull(battery_first_ms, ?), ifnull(?, battery_first_ms)),
    battery_last_ms = max(ifnull(battery_last_ms, ?), ifnull(?, battery_last_ms))`
const UPDATE_COUNTS = `UPDATE device_state SET ${COUNT_RECORDS} WHERE device_id = ?`

/** New records of a device's stream within one batch. */
class StreamDelta {
  count = 0
  firstMs: number | null = null
  lastMs: number | null = null

  add(atMs: number): void {
    this.count++
    this.firstMs = this.firstMs === null ? atMs : Math.min(this.firstMs, atMs)
    this.lastMs = this.lastMs === null ? atMs : Math.max(this.lastMs, atMs)
  }
}

const NOTHING_NEW: Readonly<StreamDelta> = new StreamDelta()

/** New records of a device within one batch. */
export interface DeviceDelta {
  gps: StreamDelta
  battery: StreamDelta
}

/**
 * Stores samples that move no state, and counts those that are new; the caller has the transaction.
 * Returns what is `AppendResult.sampleFlags` there.
 */
export function storeSamples(connection: WriterTables, samples: Float64Array): Uint8Array {
  const deltas = new Map<number, DeviceDelta>()
  const flags = appendSamples(connection, samples, deltas)
  for (const [deviceId, delta] of deltas) connection.run(UPDATE_COUNTS, ...countsOf(delta), deviceId)
  return flags
}

/** Stores those samples that are new and adds them to `deltas`. Returns the bits of `AppendResult.sampleFlags`. */
export function appendSamples(
  { tail }: WriterTables,
  samples: Float64Array,
  deltas: Map<number, DeviceDelta>,
): Uint8Array {
  if (samples.length === 0) return new Uint8Array()
  const batch = toBatch(samples)
  const flags = tail.append(batch)
  for (let i = 0; i < batch.count; i++) {
    const deviceId = batch.deviceId[i] ?? 0
    const atMs = batch.atMs[i] ?? 0
    const stored = flags[i] ?? 0
    let delta = deltas.get(deviceId)
    if (delta === undefined) {
      delta = { gps: new StreamDelta(), battery: new StreamDelta() }
      deltas.set(deviceId, delta)
    }
    if ((stored & GPS_STORED) !== 0) delta.gps.add(atMs)
    if ((stored & BATTERY_STORED) !== 0) delta.battery.add(atMs)
  }
  return flags
}

/** Throws `RangeError` for what no block could hold: it is found now, while the message can still be refused. */
function toBatch(samples: Float64Array): TelemetryBatch {
  const batch = allocateBatch(samples.length / SAMPLE_NUMBERS)
  for (let i = 0; i < batch.count; i++) {
    const at = i * SAMPLE_NUMBERS
    batch.deviceId[i] = samples[at] ?? 0
    batch.atMs[i] = takeTime(samples[at + 1])
    const latE7 = samples[at + 2] ?? Number.NaN
    if (!Number.isNaN(latE7)) {
      const speed = samples[at + 4] ?? Number.NaN
      batch.streams[i] = HAS_GPS
      batch.latE7[i] = take(latE7, GPS.rules[0])
      batch.longE7[i] = take(samples[at + 3], GPS.rules[1])
      batch.speedMilliKmh[i] = Number.isNaN(speed) ? NO_SPEED : take(speed, GPS.rules[2])
    }
    const voltageMv = samples[at + 5] ?? Number.NaN
    if (!Number.isNaN(voltageMv)) {
      batch.streams[i] = (batch.streams[i] ?? 0) | HAS_BATTERY
      batch.voltageMv[i] = take(voltageMv, BATTERY.rules[0])
    }
  }
  return batch
}

function takeTime(atMs: number | undefined): number {
  if (atMs === undefined || !isBlockTime(atMs)) throw new RangeError(`time ${atMs}`)
  return atMs
}

function take(value: number | undefined, rule: ColumnRule | undefined): number {
  if (rule === undefined || value === undefined || !Number.isInteger(value))
    throw new RangeError(`value ${value}`)
  if (value < rule.min || value > rule.max) throw new RangeError(`${rule.name} ${value}`)
  return value
}

/** The values of `COUNT_RECORDS`. */
export function countsOf(delta: DeviceDelta | undefined): (number | null)[] {
  return [delta?.gps ?? NOTHING_NEW, delta?.battery ?? NOTHING_NEW].flatMap(({ count, firstMs, lastMs }) => [
    count,
    firstMs,
    firstMs,
    lastMs,
    lastMs,
  ])
}

/** Records of one device, packed as in `AppendBatch.samples`. */
export interface ImportInput {
  deviceId: number
  samples: Float64Array
}

/**
 * Stores records that did not come from the device itself: they move none of its state. Returns what of each is new.
 * Throws `device_not_found`: no request could reach records of a deleted device.
 */
export function importTelemetry(connection: WriterTables, { deviceId, samples }: ImportInput): Uint8Array {
  if (connection.get('SELECT 1 FROM device WHERE device_id = ?', deviceId) === undefined)
    throw new NotFoundError('device_not_found', 'the device was deleted')
  return storeSamples(connection, samples)
}
