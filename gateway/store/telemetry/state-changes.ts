import type { Scalar } from '#domain/telemetry.ts'
import { fromE7, fromMilli, toE7, toMilli } from '#shared/geo.ts'
import { fold, unfoldWide } from '#shared/telemetry/packed-bits.ts'
import { FRAME_BYTES, FRAME_HEAD_BYTES, openFrame, sealFrame } from '#shared/telemetry/part-frame.ts'
import { MAX_NUMBER_BYTES, VarintReader, VarintWriter } from '#shared/telemetry/varints.ts'
import type { WatchState } from '#shared/zones/watch.ts'
import type { DeviceState } from './device-state.ts'

// The content of the frame (part-frame.ts), numbers and texts as in varints.ts, signs folded (packed-bits.ts):
//   the number of devices
//   of each: its device_id; the flags below; updatedAtMs, as the difference from that of the device before;
//     how long before that the values below were measured;
//     with POSITION latitude and longitude, as differences from the position before; with SPEED and VOLTAGE these;
//     with SAME a bit for each value in the order of the state, the first the lowest: 1 if it was measured again, the same;
//     with REST a JSON object, `Rest`.
// To read it twice is to read it once.
const FORMAT = { letter: 'd', version: 1 } as const

/** `lastRespondedAtMs` is `updatedAtMs`. */
const RESPONDED = 1
const POSITION = 2
const SPEED = 4
const VOLTAGE = 8
/** The position is also the last one that was looked at among the zones. */
const WATCHED = 16
const SAME = 32
const REST = 64

const NUMBERS_A_DEVICE = 10
/** Differences of integers below it are short enough for a varint. */
const MOST = 2 ** 31

/** What a transaction changed in the state of a device. */
export interface StateChange {
  deviceId: number
  before: DeviceState
  after: DeviceState
}

/** What the numbers do not say; absent is unchanged. */
interface Rest {
  /** Values in their order, with their times; without one they were measured with the others. */
  values?: [key: string, value: Scalar, atMs?: number][]
  lastRespondedAtMs?: number | null
  state?: Partial<Omit<DeviceState['state'], 'values' | 'atMs'>>
  watch?: Partial<WatchState>
}

/** Values that nearly every message has, as integers; null where an integer would not give back the same value. */
interface Measured {
  atMs: number
  latE7: number | null
  longE7: number | null
  speedMilliKmh: number | null
  voltageMv: number | null
  /** The bits of SAME. */
  same: number
}

interface Entry {
  change: StateChange
  flags: number
  measured: Measured
  rest: string
}

/** Writes what transactions changed; empty bytes for no changes. */
export function encodeStateChanges(changes: readonly StateChange[]): Uint8Array {
  if (changes.length === 0) return new Uint8Array()
  let restBytes = 0
  const entries = changes.map((change) => {
    const entry = entryOf(change)
    restBytes += entry.rest.length
    return entry
  })
  const numbers = 1 + entries.length * NUMBERS_A_DEVICE
  const out = new VarintWriter(numbers * MAX_NUMBER_BYTES + restBytes)
  out.write(entries.length)
  let [lastMs, lastLatE7, lastLongE7] = [0, 0, 0]
  for (const { change, flags, measured, rest } of entries) {
    const { updatedAtMs } = change.after
    out.write(change.deviceId)
    out.write(flags)
    out.write(fold(updatedAtMs - lastMs))
    lastMs = updatedAtMs
    out.write(fold(updatedAtMs - measured.atMs))
    if ((flags & POSITION) !== 0) {
      const { latE7, longE7 } = measured
      out.write(fold((latE7 ?? 0) - lastLatE7))
      out.write(fold((longE7 ?? 0) - lastLongE7))
      lastLatE7 = latE7 ?? 0
      lastLongE7 = longE7 ?? 0
    }
    if ((flags & SPEED) !== 0) out.write(fold(measured.speedMilliKmh ?? 0))
    if ((flags & VOLTAGE) !== 0) out.write(fold(measured.voltageMv ?? 0))
    if ((flags & SAME) !== 0) out.write(measured.same)
    if ((flags & REST) !== 0) out.writeText(rest)
  }
  const bytes = new Uint8Array(FRAME_BYTES + out.written.length)
  bytes.set(out.written, FRAME_HEAD_BYTES)
  return sealFrame(FORMAT, bytes, FRAME_HEAD_BYTES + out.written.length)
}

function entryOf(change: StateChange): Entry {
  const { before, after } = change
  const measured = measuredOf(change)
  let flags = flagsOf(measured)
  const rest: Rest = {}
  if (after.lastRespondedAtMs === after.updatedAtMs) flags |= RESPONDED
  else if (after.lastRespondedAtMs !== before.lastRespondedAtMs)
    rest.lastRespondedAtMs = after.lastRespondedAtMs
  const values = otherValues(change, measured, flags)
  if (values.length > 0) rest.values = values
  if (after.watch !== before.watch) {
    const watch = changesOf(before.watch, after.watch)
    if (watch.last && isMeasured(watch.last, measured)) {
      flags |= WATCHED
      delete watch.last
    }
    if (!isEmpty(watch)) rest.watch = watch
  }
  const { values: _, atMs: __, ...state } = changesOf(before.state, after.state)
  if (!isEmpty(state)) rest.state = state
  if (isEmpty(rest)) return { change, flags, measured, rest: '' }
  return { change, flags: flags | REST, measured, rest: toAscii(JSON.stringify(rest)) }
}

function measuredOf({ before, after }: StateChange): Measured {
  const { values, atMs: times } = after.state
  // a key that is new keeps its place among the others, which only the rest can tell
  const isMoved = (key: string) =>
    Object.hasOwn(before.state.values, key) && isChanged({ before, after }, key)
  const atMs = times[LEADERS.find(isMoved) ?? ''] ?? after.updatedAtMs
  const whole = (key: string, to: (value: number) => number, from: (stored: number) => number) => {
    if (times[key] !== atMs || !isMoved(key)) return null
    const value = values[key]
    if (typeof value !== 'number') return null
    const stored = to(value)
    return Math.abs(stored) < MOST && from(stored) === value ? stored : null
  }
  const latE7 = whole('lat', toE7, fromE7)
  const longE7 = latE7 === null ? null : whole('long', toE7, fromE7)
  const measured: Measured = {
    atMs,
    latE7: longE7 === null ? null : latE7,
    longE7,
    speedMilliKmh: whole('speed', toMilli, fromMilli),
    voltageMv: whole('battery_voltage', toMilli, fromMilli),
    same: 0,
  }
  const flags = flagsOf(measured)
  let bit = 1
  for (const key in before.state.values) {
    const isAgain = times[key] === atMs && before.state.atMs[key] !== atMs
    if (isAgain && (flags & (FLAG_OF[key] ?? 0)) === 0 && values[key] === before.state.values[key])
      measured.same += bit
    bit *= 2
  }
  return measured
}

/** Whose time that of the others mostly is. */
const LEADERS = ['lat', 'speed', 'battery_voltage', 'lock_status']

const FLAG_OF: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  lat: POSITION,
  long: POSITION,
  speed: SPEED,
  battery_voltage: VOLTAGE,
})

function flagsOf({ latE7, speedMilliKmh, voltageMv, same }: Omit<Measured, 'atMs' | 'longE7'>): number {
  return (
    (latE7 === null ? 0 : POSITION) |
    (speedMilliKmh === null ? 0 : SPEED) |
    (voltageMv === null ? 0 : VOLTAGE) |
    (same === 0 ? 0 : SAME)
  )
}

function isChanged({ before, after }: Pick<StateChange, 'before' | 'after'>, key: string): boolean {
  return (
    before.state.atMs[key] !== after.state.atMs[key] || before.state.values[key] !== after.state.values[key]
  )
}

function otherValues(change: StateChange, measured: Measured, flags: number): NonNullable<Rest['values']> {
  const others: NonNullable<Rest['values']> = []
  const { before, after } = change
  const { values, atMs } = after.state
  for (const key in values) {
    if ((flags & (FLAG_OF[key] ?? 0)) !== 0) continue
    const [value, at = 0] = [values[key], atMs[key]]
    const isNew = !Object.hasOwn(before.state.values, key)
    if (value === undefined || (!isNew && !isChanged(change, key))) continue
    const isSaid = !isNew && at === measured.atMs && value === before.state.values[key]
    if (!isSaid) others.push(at === measured.atMs ? [key, value] : [key, value, at])
  }
  return others
}

function isMeasured(fix: { atMs: number; latE7: number; longE7: number }, measured: Measured): boolean {
  return fix.atMs === measured.atMs && fix.latE7 === measured.latE7 && fix.longE7 === measured.longE7
}

/** The fields of `after` that are not as in `before`. */
function changesOf<T extends object>(before: T, after: T): Partial<T> {
  const changes: Partial<T> = {}
  for (const key in after) {
    const [old, now] = [before[key], after[key]]
    if (!isSame(old, now)) changes[key] = now
  }
  return changes
}

/** Of JSON: whether both are the same. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const [fields, others] = [Object.entries(a), Object.entries(b)]
  // they were made in the same order
  return (
    fields.length === others.length &&
    fields.every(([key, value], i) => others[i]?.[0] === key && isSame(value, others[i]?.[1]))
  )
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false
  return true
}

function toAscii(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Does what `encodeStateChanges` wrote to the states that `stateOf` returns, those of devices it does not know are left
 * out. Throws `DamagedBlockError`, or `NewerBlockError` for those of a later version.
 */
export function applyStateChanges(
  bytes: Uint8Array,
  stateOf: (deviceId: number) => DeviceState | undefined,
): void {
  const content = openFrame(FORMAT, bytes)
  const reader = new VarintReader(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
  const count = reader.read()
  let [updatedAtMs, latE7, longE7] = [0, 0, 0]
  for (let i = 0; i < count; i++) {
    const known = stateOf(reader.read())
    const flags = reader.read()
    updatedAtMs += unfoldWide(reader.read())
    const atMs = updatedAtMs - unfoldWide(reader.read())
    if ((flags & POSITION) !== 0) {
      latE7 += unfoldWide(reader.read())
      longE7 += unfoldWide(reader.read())
    }
    const speed = (flags & SPEED) === 0 ? 0 : unfoldWide(reader.read())
    const voltage = (flags & VOLTAGE) === 0 ? 0 : unfoldWide(reader.read())
    const same = (flags & SAME) === 0 ? 0 : reader.read()
    const rest = (flags & REST) === 0 ? '' : reader.readText()
    if (known === undefined) continue
    known.updatedAtMs = updatedAtMs
    if ((flags & RESPONDED) !== 0) known.lastRespondedAtMs = updatedAtMs
    if ((flags & POSITION) !== 0) {
      setValue(known, 'lat', fromE7(latE7), atMs)
      setValue(known, 'long', fromE7(longE7), atMs)
    }
    if ((flags & SPEED) !== 0) setValue(known, 'speed', fromMilli(speed), atMs)
    if ((flags & VOLTAGE) !== 0) setValue(known, 'battery_voltage', fromMilli(voltage), atMs)
    if ((flags & WATCHED) !== 0) known.watch = { ...known.watch, last: { atMs, latE7, longE7 } }
    if (same > 0) measureAgain(known, same, atMs)
    // written by this program only
    if (rest !== '') applyRest(known, atMs, JSON.parse(rest))
  }
}

function measureAgain({ state }: DeviceState, same: number, atMs: number): void {
  let bits = same
  for (const key in state.values) {
    if (bits % 2 === 1) state.atMs[key] = atMs
    bits = Math.floor(bits / 2)
  }
}

function applyRest(
  known: DeviceState,
  measuredAtMs: number,
  { values, lastRespondedAtMs, state, watch }: Rest,
): void {
  for (const [key, value, atMs = measuredAtMs] of values ?? []) setValue(known, key, value, atMs)
  if (lastRespondedAtMs !== undefined) known.lastRespondedAtMs = lastRespondedAtMs
  if (state !== undefined) Object.assign(known.state, state)
  if (watch !== undefined) known.watch = { ...known.watch, ...watch }
}

function setValue({ state }: DeviceState, key: string, value: Scalar, atMs: number): void {
  state.values[key] = value
  state.atMs[key] = atMs
}
