import { fromE7, fromMilli, toE7, toMilli } from '#shared/geo.ts'
import { isPlausibleTime, MAX_AHEAD_MS, sentTime } from './event-time.ts'

/** Value of a device attribute. */
export type Scalar = string | number | boolean

/** Reading of a device, checked and rounded for storage. Absent numbers are NaN. */
export interface Sample {
  atMs: number
  /** In degrees; `lat` and `long` are both present or both NaN. */
  lat: number
  long: number
  speedKmh: number
  voltageV: number
  /** Accepted keys as the device named them, including the four above: the content of attributes and `device_data`. */
  values: Record<string, Scalar>
}

/** Counts dropped values and messages, by reason, for metrics and device details. */
export type OnDrop = (reason: string, count?: number) => void

/** Callbacks about the times in a message, called while it is parsed. */
export interface TimeNotes {
  /** Reports a time by the device's own clock. */
  reported: (atMs: number) => void
  /** Reports an implausible time of a reading that came alone. */
  doubted: (atMs: number) => void
  /** Reports a reading of a batch that was dropped because of its time. */
  refused: (reading: unknown) => void
}

export const NO_TIME_NOTES: TimeNotes = {
  reported: () => undefined,
  doubted: () => undefined,
  refused: () => undefined,
}

/** Error for a payload that matches no format: it is quarantined. */
export class UnreadablePayloadError extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

const MAX_BATCH_SAMPLES = 500
export const MAX_OTHER_ATTRIBUTES = 32
export const MAX_STRING_LENGTH = 256
const MAX_SPEED_KMH = 200
const MAX_VOLTAGE_V = 120
const ATTRIBUTE_NAME = /^[A-Za-z0-9_]{1,64}$/
const ENVELOPE_KEYS = new Set(['ts', 'up', 'boot'])

type JsonObject = Record<string, unknown>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Parses a telemetry message: one object, an array, or an envelope `{boot, up, s: […]}` of a device without a clock
 * (`up` in ms since boot). Returns usable readings in the order sent; passes others to `onDrop`, including times after
 * `latestMs`, and to `notes` if only their time makes them unusable. Throws `UnreadablePayloadError` for other forms.
 */
export function parseTelemetry(
  payload: unknown,
  receivedAtMs: number,
  onDrop: OnDrop,
  latestMs = receivedAtMs + MAX_AHEAD_MS,
  notes = NO_TIME_NOTES,
): Sample[] {
  const receipt = { atMs: receivedAtMs, latestMs, notes }
  if (Array.isArray(payload)) {
    return parseBatch(payload, onDrop, receipt, (sample) => batchTime(sample, receipt))
  }
  if (!isJsonObject(payload)) throw new UnreadablePayloadError('not_an_object_or_array')
  if (Array.isArray(payload.s)) {
    return parseBatch(payload.s, onDrop, receipt, (sample) => envelopeTime(sample, payload, receipt))
  }
  const sample = parseSample(payload, singleTime(payload, receipt, onDrop), onDrop)
  return sample === undefined ? [] : [sample]
}

/** Time of receipt of a message, and the latest plausible time in it. */
interface Receipt {
  atMs: number
  latestMs: number
  notes: TimeNotes
}

type TimeOrReason = number | string

function parseBatch(
  items: unknown[],
  onDrop: OnDrop,
  { notes }: Receipt,
  timeOf: (item: JsonObject) => TimeOrReason,
): Sample[] {
  if (items.length > MAX_BATCH_SAMPLES) onDrop('batch_too_long', items.length - MAX_BATCH_SAMPLES)
  const samples: Sample[] = []
  for (const item of items.slice(0, MAX_BATCH_SAMPLES)) {
    if (!isJsonObject(item)) {
      onDrop('not_an_object')
      continue
    }
    const time = timeOf(item)
    if (typeof time === 'string') {
      onDrop(time)
      if (time === 'implausible_time') notes.refused(item)
      continue
    }
    const sample = parseSample(item, time, onDrop)
    if (sample !== undefined) samples.push(sample)
  }
  return samples
}

function singleTime(sample: JsonObject, receipt: Receipt, onDrop: OnDrop): number {
  if (isAbsent(sample.ts)) return receipt.atMs
  const ts = sentTime(sample.ts)
  if (isPlausibleTime(ts, receipt.latestMs)) return ownTime(ts, receipt)
  onDrop('implausible_time')
  if (typeof ts === 'number') receipt.notes.doubted(ts)
  return receipt.atMs
}

// in a batch the receive time would be wrong for all but the last sample, so an unusable time drops the sample
function batchTime(sample: JsonObject, receipt: Receipt): TimeOrReason {
  if (isAbsent(sample.ts)) return receipt.atMs
  const ts = sentTime(sample.ts)
  return isPlausibleTime(ts, receipt.latestMs) ? ownTime(ts, receipt) : 'implausible_time'
}

function ownTime(ts: number, { notes }: Receipt): number {
  const atMs = Math.round(ts)
  notes.reported(atMs)
  return atMs
}

function envelopeTime(sample: JsonObject, envelope: JsonObject, receipt: Receipt): TimeOrReason {
  if (!isAbsent(sample.ts)) return batchTime(sample, receipt)
  if (!isAbsent(sample.boot) && sample.boot !== envelope.boot) return 'earlier_boot'
  if (isAbsent(sample.up)) return receipt.atMs
  if (typeof sample.up !== 'number' || typeof envelope.up !== 'number') return 'implausible_time'
  const atMs = Math.round(receipt.atMs - (envelope.up - sample.up))
  return isPlausibleTime(atMs, receipt.latestMs) ? atMs : 'implausible_time'
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/** Parses the usable keys of one reading; undefined if none is usable. */
export function parseSample(raw: Record<string, unknown>, atMs: number, onDrop: OnDrop): Sample | undefined {
  const { NaN: absent } = Number
  const values: Record<string, Scalar> = {}
  const sample: Sample = { atMs, lat: absent, long: absent, speedKmh: absent, voltageV: absent, values }
  let others = 0
  let isUsable = false
  for (const key in raw) {
    const value = raw[key]
    if (value === null || ENVELOPE_KEYS.has(key)) continue
    switch (key) {
      case 'lat':
      case 'long':
        // both are checked together below
        continue
      case 'speed':
        sample.speedKmh = boundedNumber(value, MAX_SPEED_KMH, 'speed', onDrop)
        if (Number.isNaN(sample.speedKmh)) continue
        values.speed = sample.speedKmh
        break
      case 'battery_voltage':
        sample.voltageV = boundedNumber(value, MAX_VOLTAGE_V, 'battery_voltage', onDrop)
        if (Number.isNaN(sample.voltageV)) continue
        values.battery_voltage = sample.voltageV
        break
      case 'lock_status':
        if (value !== true && value !== false && value !== 0 && value !== 1) {
          onDrop('invalid_lock_status')
          continue
        }
        values.lock_status = value
        break
      default: {
        const scalar = otherAttribute(key, value, others, onDrop)
        if (scalar === undefined) continue
        values[key] = scalar
        others++
      }
    }
    isUsable = true
  }
  return takePosition(raw, sample, onDrop) || isUsable ? sample : undefined
}

function takePosition(raw: JsonObject, sample: Sample, onDrop: OnDrop): boolean {
  const { lat, long } = raw
  if (isAbsent(lat) && isAbsent(long)) return false
  if (typeof lat !== 'number' || typeof long !== 'number') {
    onDrop(isAbsent(lat) || isAbsent(long) ? 'incomplete_position' : 'invalid_position')
    return false
  }
  // a receiver without a fix reports 0,0; NaN and infinity fail the comparisons
  if (!(Math.abs(lat) <= 90 && Math.abs(long) <= 180) || (lat === 0 && long === 0)) {
    onDrop('invalid_position')
    return false
  }
  sample.lat = fromE7(toE7(lat))
  sample.long = fromE7(toE7(long))
  sample.values.lat = sample.lat
  sample.values.long = sample.long
  return true
}

function boundedNumber(value: unknown, max: number, name: string, onDrop: OnDrop): number {
  if (typeof value === 'number' && value >= 0 && value <= max) return fromMilli(toMilli(value))
  onDrop(`invalid_${name}`)
  return Number.NaN
}

function otherAttribute(key: string, value: unknown, others: number, onDrop: OnDrop): Scalar | undefined {
  if (!ATTRIBUTE_NAME.test(key) || key === '__proto__') {
    onDrop('invalid_attribute_name')
    return undefined
  }
  if (others >= MAX_OTHER_ATTRIBUTES) {
    onDrop('too_many_attributes')
    return undefined
  }
  if (typeof value === 'string') return value.slice(0, MAX_STRING_LENGTH)
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  onDrop(typeof value === 'object' ? 'nested_attribute' : 'invalid_attribute')
  return undefined
}
