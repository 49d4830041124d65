import { NotFoundError } from '#shared/errors.ts'
import { isBlockTime } from '#shared/telemetry/block-header.ts'
import { BATTERY, type ColumnRule, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { event, write } from '../db/audit.ts'
import { allocateBatch, HAS_BATTERY, HAS_GPS, type TelemetryBatch } from './batch.ts'
import { hardwareIdOf } from './device-state.ts'
import type { WriterTables } from './log-tail.ts'
import { keepStateChanges } from './save-states.ts'

/** Numbers of a sample in `AppendBatch.samples`: device id, at_ms, lat E7, long E7, speed milli km/h, voltage mV. */
export const SAMPLE_NUMBERS = 6

export const GPS_STORED = HAS_GPS
export const BATTERY_STORED = HAS_BATTERY

const NO_CHANGES = new Uint8Array()

/** Stores new samples with state changes (`encodeStateChanges`) in the caller's transaction; returns `sampleFlags`. */
export function storeSamples(
  connection: WriterTables,
  samples: Float64Array,
  stateChanges: Uint8Array = NO_CHANGES,
): Uint8Array {
  const flags = samples.length === 0 ? new Uint8Array() : connection.tail.append(toBatch(samples), stateChanges)
  const isLogged = flags.some((stored) => stored !== 0)
  if (!isLogged && stateChanges.length > 0) keepStateChanges(connection, stateChanges)
  return flags
}

/** Throws `RangeError` for values that no block can hold: detected here, while the message can still be refused. */
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
  if (rule === undefined || value === undefined || !Number.isInteger(value)) throw new RangeError(`value ${value}`)
  if (value < rule.min || value > rule.max) throw new RangeError(`${rule.name} ${value}`)
  return value
}

/** Records of one device, packed as in `AppendBatch.samples`. */
export interface ImportInput {
  deviceId: number
  samples: Float64Array
}

/**
 * Stores records that did not come from the device itself; they do not change its state. Returns the flags of the new
 * ones. Throws `device_not_found`, because no request could reach records of a deleted device.
 */
export const importTelemetry = write(
  (connection: WriterTables, { deviceId, samples }: ImportInput): Uint8Array => {
    if (connection.get('SELECT 1 FROM device WHERE device_id = ?', deviceId) === undefined)
      throw new NotFoundError('device_not_found', 'the device was deleted')
    return storeSamples(connection, samples)
  },
  {
    audit: (connection, { deviceId }) => {
      const hardwareId = hardwareIdOf(connection, deviceId)
      return (flags) => [event('telemetry.imported', hardwareId, { samples: flags.length })]
    },
  },
)
