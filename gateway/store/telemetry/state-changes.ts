import type { LatestState } from '#domain/latest-state.ts'
import type { Scalar } from '#domain/telemetry.ts'
import { fromE7, fromMilli, toE7, toMilli } from '#shared/geo.ts'
import { fold, unpackWide } from '#shared/telemetry/packed-bits.ts'
import { FRAME_BYTES, FRAME_HEAD_BYTES, finishFrame, openFrame } from '#shared/telemetry/part-frame.ts'
import { MAX_NUMBER_BYTES, VarintReader, VarintWriter } from '#shared/telemetry/varints.ts'
import type { WatchState } from '#shared/zones/watch.ts'
import type { DeviceState } from './device-state.ts'

// Content of the frame (part-frame.ts); numbers and texts as in varints.ts, signs folded (packed-bits.ts):
//   the number of devices
//   for each: its device_id; the flags below; updatedAtMs, as the difference from that of the previous device;
//     the age of the values below at that time;
//     with LAT and LONG these, as differences from those of the last device that had them;
//     with SPEED and VOLTAGE these;
//     with SAME a bit for each value in the order of the state, lowest bit first: 1 if measured again and unchanged;
//     with REST a JSON object, `Rest`.
// Applying it twice has the same effect as applying it once.
const FORMAT = { letter: 'd', version: 1 } as const

/** `lastRespondedAtMs` equals `updatedAtMs`. */
const RESPONDED = 1
const LAT = 2
const LONG = 4
const SPEED = 8
const VOLTAGE = 16
/** The current position and its time are also those of the last zone evaluation. */
const WATCHED = 32
const SAME = 64
const REST = 128

const NUMBERS_A_DEVICE = 10
/** Smaller differences of integers fit into a varint. */
const MOST = 2 ** 31

export interface StateChange {
  deviceId: number
  before: DeviceState
  after: DeviceState
}

/** Changes that the numbers do not express; absent means unchanged. */
interface Rest {
  /** Values in their order, with their times; those without a time were measured with the others. */
  values?: [key: string, value: Scalar, atMs?: number][]
  lastRespondedAtMs?: number | null
  state?: Partial<Omit<LatestState, 'values' | 'atMs'>>
  watch?: Partial<WatchState>
}

interface Entry {
  change: StateChange
  flags: number
  /** Time at which the values were measured. */
  atMs: number
  latE7: number
  longE7: number
  speedMilliKmh: number
  voltageMv: number
  same: number
  rest: string
}

/** Encodes the state changes of a transaction; empty bytes for none. */
export function encodeStateChanges(changes: readonly StateChange[]): Uint8Array {
  if (changes.length === 0) return new Uint8Array()
  const entries = changes.map(entryOf)
  const restBytes = entries.reduce((sum, { rest }) => sum + rest.length, 0)
  const numbers = 1 + entries.length * NUMBERS_A_DEVICE
  const out = new VarintWriter(numbers * MAX_NUMBER_BYTES + restBytes)
  writeEntries(out, entries)
  const bytes = new Uint8Array(FRAME_BYTES + out.written.length)
  bytes.set(out.written, FRAME_HEAD_BYTES)
  return finishFrame(FORMAT, bytes, FRAME_HEAD_BYTES + out.written.length)
}

function writeEntries(out: VarintWriter, entries: readonly Entry[]): void {
  out.write(entries.length)
  let lastMs = 0
  let lastLatE7 = 0
  let lastLongE7 = 0
  for (const { change, flags, atMs, latE7, longE7, speedMilliKmh, voltageMv, same, rest } of entries) {
    const { updatedAtMs } = change.after
    out.write(change.deviceId)
    out.write(flags)
    out.write(fold(updatedAtMs - lastMs))
    lastMs = updatedAtMs
    out.write(fold(updatedAtMs - atMs))
    if ((flags & LAT) !== 0) {
      out.write(fold(latE7 - lastLatE7))
      lastLatE7 = latE7
    }
    if ((flags & LONG) !== 0) {
      out.write(fold(longE7 - lastLongE7))
      lastLongE7 = longE7
    }
    if ((flags & SPEED) !== 0) out.write(fold(speedMilliKmh))
    if ((flags & VOLTAGE) !== 0) out.write(fold(voltageMv))
    if ((flags & SAME) !== 0) out.write(same)
    if ((flags & REST) !== 0) out.writeText(rest)
  }
}

function entryOf(change: StateChange): Entry {
  const { before, after } = change
  const atMs = measuredAtMs(change)
  const entry = {
    change,
    flags: 0,
    atMs,
    latE7: 0,
    longE7: 0,
    speedMilliKmh: 0,
    voltageMv: 0,
    same: 0,
    rest: '',
  }
  const rest: Rest = {}
  noteValues(entry, rest)
  if (after.lastRespondedAtMs === after.updatedAtMs) entry.flags |= RESPONDED
  else if (after.lastRespondedAtMs !== before.lastRespondedAtMs) rest.lastRespondedAtMs = after.lastRespondedAtMs
  if (after.watch !== before.watch) noteWatch(entry, rest)
  noteState(change, rest)
  for (const _ in rest) {
    entry.flags |= REST
    entry.rest = toAscii(JSON.stringify(rest))
    break
  }
  return entry
}

/** Time of the known values that the newest message updated. */
function measuredAtMs({ before, after }: StateChange): number {
  const [known, times] = [before.state.atMs, after.state.atMs]
  for (const key of LEADERS) {
    const atMs = times[key]
    if (atMs !== undefined && known[key] !== undefined && known[key] !== atMs) return atMs
  }
  return after.updatedAtMs
}

/** Values whose time most of the others share. */
const LEADERS = ['lat', 'speed', 'battery_voltage', 'lock_status'] as const

// runs for each device of each transaction: creates no more objects than necessary
function noteValues(entry: Entry, rest: Rest): void {
  const { before, after } = entry.change
  const { values, atMs } = after.state
  const known = before.state
  let bit = 1
  for (const key in values) {
    const place = bit
    bit *= 2
    const value = values[key]
    const at = atMs[key]
    const knownAt: unknown = known.atMs[key]
    // every object inherits some names, whose values are not times
    const isKnown = typeof knownAt === 'number'
    const isSame = isKnown && value === known.values[key]
    if (value === undefined || at === undefined || (isSame && at === knownAt)) continue
    // a new key gets its position among the others from the rest
    if (isKnown && at === entry.atMs) {
      if (isSame) {
        entry.same += place
        entry.flags |= SAME
        continue
      }
      if (typeof value === 'number' && isWhole(entry, key, value)) continue
    }
    rest.values ??= []
    rest.values.push(at === entry.atMs ? [key, value] : [key, value, at])
  }
}

/** Stores a value in an integer if that is lossless; false otherwise. */
function isWhole(entry: Entry, key: string, value: number): boolean {
  if (key === 'lat' || key === 'long') {
    const stored = toE7(value)
    if (fromE7(stored) !== value || Math.abs(stored) >= MOST) return false
    if (key === 'lat') entry.latE7 = stored
    else entry.longE7 = stored
    entry.flags |= key === 'lat' ? LAT : LONG
    return true
  }
  if (key !== 'speed' && key !== 'battery_voltage') return false
  const stored = toMilli(value)
  if (fromMilli(stored) !== value || Math.abs(stored) >= MOST) return false
  if (key === 'speed') entry.speedMilliKmh = stored
  else entry.voltageMv = stored
  entry.flags |= key === 'speed' ? SPEED : VOLTAGE
  return true
}

function noteWatch(entry: Entry, rest: Rest): void {
  const [known, watch] = [entry.change.before.watch, entry.change.after.watch]
  const changes: Partial<WatchState> = {}
  if (watch.last !== known.last) {
    if (isLatest(watch.last, entry.change.after.state)) entry.flags |= WATCHED
    else changes.last = watch.last
  }
  if (watch.fingerprints !== known.fingerprints) changes.fingerprints = watch.fingerprints
  if (!hasSameZones(watch, known)) changes.zones = watch.zones
  for (const _ in changes) {
    rest.watch = changes
    break
  }
}

function hasSameZones({ zones }: WatchState, { zones: known }: WatchState): boolean {
  if (zones.length !== known.length) return false
  // unchanged zones keep their objects, except those read from the disk
  if (zones.every((zone, place) => zone === known[place])) return true
  return JSON.stringify(zones) === JSON.stringify(known)
}

function isLatest(last: WatchState['last'], state: LatestState): boolean {
  if (last === null) return false
  const latest = positionOf(state)
  return latest !== null && last.atMs === latest.atMs && last.latE7 === latest.latE7 && last.longE7 === latest.longE7
}

function positionOf({ values, atMs }: LatestState): NonNullable<WatchState['last']> | null {
  const { lat, long } = values
  if (typeof lat !== 'number' || typeof long !== 'number' || atMs.lat === undefined) return null
  return { atMs: atMs.lat, latE7: toE7(lat), longE7: toE7(long) }
}

function noteState({ before: { state: known }, after: { state } }: StateChange, rest: Rest): void {
  const changes: NonNullable<Rest['state']> = {}
  if (state.status !== known.status) changes.status = state.status
  if (!hasSame(state.dropped, known.dropped)) changes.dropped = state.dropped
  if (state.unverified !== undefined && state.unverified !== known.unverified) changes.unverified = state.unverified
  if (state.asksForTime !== undefined && state.asksForTime !== known.asksForTime)
    changes.asksForTime = state.asksForTime
  if (state.applied.cfg !== known.applied.cfg || state.applied.sz !== known.applied.sz) changes.applied = state.applied
  for (const _ in changes) {
    rest.state = changes
    break
  }
}

/** True if all counters of `counts` are unchanged; counters are never removed. */
function hasSame(counts: Record<string, number>, known: Record<string, number>): boolean {
  for (const reason in counts) if (counts[reason] !== known[reason]) return false
  return true
}

function toAscii(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Applies `encodeStateChanges` bytes to the states of known devices. Throws `DamagedBlockError`, `NewerBlockError`. */
export function applyStateChanges(bytes: Uint8Array, stateOf: (deviceId: number) => DeviceState | undefined): void {
  const content = openFrame(FORMAT, bytes)
  const reader = new VarintReader(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
  let updatedAtMs = 0
  let latE7 = 0
  let longE7 = 0
  for (let left = reader.read(); left > 0; left--) {
    const known = stateOf(reader.read())
    const flags = reader.read()
    updatedAtMs += unpackWide(reader.read())
    const atMs = updatedAtMs - unpackWide(reader.read())
    if ((flags & LAT) !== 0) latE7 += unpackWide(reader.read())
    if ((flags & LONG) !== 0) longE7 += unpackWide(reader.read())
    const speedMilliKmh = (flags & SPEED) === 0 ? 0 : unpackWide(reader.read())
    const voltageMv = (flags & VOLTAGE) === 0 ? 0 : unpackWide(reader.read())
    const same = (flags & SAME) === 0 ? 0 : reader.read()
    const rest = (flags & REST) === 0 ? '' : reader.readText()
    if (known === undefined) continue
    const { state } = known
    known.updatedAtMs = updatedAtMs
    if ((flags & RESPONDED) !== 0) known.lastRespondedAtMs = updatedAtMs
    if ((flags & LAT) !== 0) setValue(state, 'lat', fromE7(latE7), atMs)
    if ((flags & LONG) !== 0) setValue(state, 'long', fromE7(longE7), atMs)
    if ((flags & SPEED) !== 0) setValue(state, 'speed', fromMilli(speedMilliKmh), atMs)
    if ((flags & VOLTAGE) !== 0) setValue(state, 'battery_voltage', fromMilli(voltageMv), atMs)
    if (same > 0) measureAgain(state, same, atMs)
    // written by this program only
    if (rest !== '') applyRest(known, atMs, JSON.parse(rest))
    if ((flags & WATCHED) !== 0) known.watch = { ...known.watch, last: positionOf(state) }
  }
}

function measureAgain(state: LatestState, same: number, atMs: number): void {
  let bits = same
  for (const key in state.values) {
    if (bits % 2 === 1) state.atMs[key] = atMs
    bits = Math.floor(bits / 2)
  }
}

function applyRest(known: DeviceState, measuredAtMs: number, { values, lastRespondedAtMs, state, watch }: Rest): void {
  for (const [key, value, atMs = measuredAtMs] of values ?? []) setValue(known.state, key, value, atMs)
  if (lastRespondedAtMs !== undefined) known.lastRespondedAtMs = lastRespondedAtMs
  if (state !== undefined) Object.assign(known.state, state)
  if (watch !== undefined) known.watch = { ...known.watch, ...watch }
}

function setValue(state: LatestState, key: string, value: Scalar, atMs: number): void {
  state.values[key] = value
  state.atMs[key] = atMs
}
