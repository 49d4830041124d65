import { toIso } from '#shared/time.ts'
import type { ImportedBattery, ImportedGps } from '#shared/wire/telemetry-import.ts'
import { readTime } from './read-time.ts'
import type { FoundRecord, TrackSink } from './track-reader.ts'

/** Facts that a file does not contain. */
export interface Reading {
  /** True: times without a zone are UTC. */
  isUtc: boolean
  /** Undefined: as stated in the file, else km/h. */
  kmhPerSpeedUnit: number | undefined
}

/** Record in the format of the gateway. */
export interface TrackRecord {
  hardwareId: string | null
  atMs: number
  gps: ImportedGps | null
  battery: ImportedBattery | null
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i
/** Matches the decimal comma of most of Europe. */
const WITH_COMMA = /^[+-]?\d+,\d+$/

/** Values that receivers and programs write if no position was found. Source: GPX 1.1 fixType, NMEA 0183 */
const NO_FIX: readonly unknown[] = ['none', 'no', 'no fix', 'nofix', 'false', 'invalid', 'void', 'v', '0']

/**
 * Converts a record to numbers and times; the gateway decides if they are possible. Returns undefined, and passes the
 * reason to `drop`, if nothing is left; a speed that is not a number loses only the speed.
 */
export function checkRecord(
  found: FoundRecord,
  { isUtc, kmhPerSpeedUnit }: Reading,
  drop: TrackSink['drop'],
): TrackRecord | undefined {
  const { place } = found
  const atMs = readTime(found.time, isUtc)
  if (typeof atMs === 'string') {
    drop(atMs, place, found.time)
    return undefined
  }
  const timestamp = toIso(atMs)
  const [lat, long, voltage] = [numberIn(found.lat), numberIn(found.long), numberIn(found.voltage)]
  if (lat === undefined && long === undefined && voltage === undefined) {
    drop('no_position', place)
    return undefined
  }
  let gps: ImportedGps | null = null
  if (lat !== undefined && long !== undefined) {
    if (Number.isNaN(lat) || Number.isNaN(long))
      drop('invalid_position', place, Number.isNaN(lat) ? found.lat : found.long)
    else if (NO_FIX.includes(String(found.fix).trim().toLowerCase())) drop('no_fix', place)
    else gps = { timestamp, lat, long, ...speedOf(found, kmhPerSpeedUnit, drop) }
  } else if (lat !== long) drop('incomplete_position', place)
  let battery: ImportedBattery | null = null
  if (voltage !== undefined) {
    if (Number.isNaN(voltage)) drop('invalid_battery_voltage', place, found.voltage)
    else battery = { timestamp, battery_voltage: voltage }
  }
  if (gps === null && battery === null) return undefined
  const { hardwareId } = found
  return {
    hardwareId: typeof hardwareId === 'string' && hardwareId !== '' ? hardwareId : null,
    atMs,
    gps,
    battery,
  }
}

function speedOf(
  { speed, kmhPerSpeedUnit: ownUnit, place }: FoundRecord,
  kmhPerSpeedUnit: number | undefined,
  drop: TrackSink['drop'],
): { speed?: number } {
  const value = numberIn(speed)
  if (value === undefined) return {}
  if (!Number.isNaN(value)) return { speed: value * (kmhPerSpeedUnit ?? ownUnit ?? 1) }
  drop('invalid_speed', place, speed)
  return {}
}

/** Returns the number of a value, NaN if it is not a number, undefined if it is missing. */
function numberIn(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? value : Number.NaN
  if (typeof value !== 'string') return Number.NaN
  const text = value.trim()
  if (text === '') return undefined
  const plain = text.includes(',') && WITH_COMMA.test(text) ? text.replace(',', '.') : text
  const number = NUMBER.test(plain) ? Number(plain) : Number.NaN
  return Number.isFinite(number) ? number : Number.NaN
}
