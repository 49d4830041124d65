import { isNewer } from '#shared/time.ts'
import { distanceM, type Point } from './geometry.ts'
import {
  isFarFrom,
  locate,
  passageThrough,
  type WatchedZone,
  type WatchedZones,
  type ZoneRelation,
} from './watched-zones.ts'

/** Position of a device with its event time. */
export interface Fix extends Point {
  atMs: number
}

/** Entry into or exit from a zone, with the time and position of the crossing, before the fix that revealed it. */
export interface ZoneEvent extends Fix {
  kind: 'enter' | 'exit'
  zoneId: string
}

/** State of a device in relation to one zone. */
export interface ZoneState {
  id: string
  isInside: boolean
  /** Event time since which it is inside or known to be; absent in states of older programs. */
  sinceMs?: number
  /** Inside by the very first fix, not confirmed by another: an exit is not reported then. */
  isAssumed?: true
  /** Last fix clearly outside. */
  outsideAt?: Fix
  /** Last fix, if it contradicts `isInside`: the next one must confirm it. */
  turnedAt?: Fix
  /** Set if the straight line to the last fix crossed the zone: the next fix must not be back. */
  passed?: { from: Fix; enter: Fix; exit: Fix }
  /** Position at which it left the zone, while it is still near. */
  leftAt?: Fix
}

/**
 * State of a device in relation to its zones: JSON, whose size depends on the zones it is in or near. Zones in
 * `fingerprints` but not in `zones` are those it was clearly outside at `last`.
 */
export interface WatchState {
  last: Fix | null
  fingerprints: string
  zones: readonly ZoneState[]
}

const NO_EVENTS: readonly ZoneEvent[] = []

/** State of a device without any position. */
export const NO_ZONE_STATE: WatchState = { last: null, fingerprints: '', zones: [] }

/** Maximum interval between two fixes with a straight line in between; for a longer one the path is unknown. */
const MAX_PASSAGE_MS = 60_000
/** Maximum distance of a cart within that interval. */
const MAX_PASSAGE_M = 400

/**
 * Time inside after which a returning cart counts as inside again, unless it has been far enough from where it left.
 * Prevents alternating events of a cart that stands a few metres from a zone.
 */
const RETURN_MS = 120_000
export const RETURN_M = 30

/**
 * Processes the next fix of a device. No single fix raises an event; the next one confirms it: two fixes inside after
 * one outside are an entry, two outside by more than the buffer are an exit, and a straight line from outside to
 * outside through the zone is both unless the next fix is back. A fix that is not newer than the last one changes
 * nothing, nor does NaN; a last fix later than `latestMs` was caused by a wrong clock and is discarded. Unknown states,
 * of a new device or zone or a changed shape, become known without an event; a deleted zone ends without one.
 */
export function watch(
  state: WatchState,
  watched: WatchedZones,
  { atMs, latE7, longE7 }: Fix,
  latestMs = Number.POSITIVE_INFINITY,
): { state: WatchState; events: readonly ZoneEvent[] } {
  const isLate = state.last !== null && !isNewer(atMs, state.last.atMs, latestMs)
  if (isLate || Number.isNaN(latE7) || Number.isNaN(longE7)) return { state, events: NO_EVENTS }
  // stored and reported without further fields of the caller's object
  const fix: Fix = { atMs, latE7, longE7 }
  const before = state.last !== null && state.last.atMs > latestMs ? NO_ZONE_STATE : state
  const isSameSet = before.fingerprints === watched.fingerprints
  const { fingerprints } = watched
  if (isSameSet && before.last !== null && staysAsItWas(before.zones, watched, before.last, fix))
    return { state: { last: fix, fingerprints, zones: before.zones }, events: NO_EVENTS }
  const isKnown = knownZones(before, watched)
  const events: ZoneEvent[] = []
  const zones: ZoneState[] = []
  const { last } = before
  let knownPlace = 0
  for (let place = 0; place < watched.zones.length; place++) {
    const zone = watched.zones[place]
    if (zone === undefined) continue
    // the same set has the same order, and there may be hundreds of zones
    let known = isSameSet ? before.zones[knownPlace] : before.zones.find(({ id }) => id === zone.id)
    if (known?.id === zone.id) knownPlace++
    else known = undefined
    // fast path for nearly all zones; the code below has the same result
    if (known === undefined && last !== null && isFarFrom(watched, place, last, fix)) continue
    const where = locate(zone, fix)
    const next = isKnown(zone)
      ? step(stateOf(known, zone, last), zone, fix, where, events)
      : firstSight(known, zone, last, fix, where)
    if (next !== null) zones.push(next)
  }
  events.sort((a, b) => a.atMs - b.atMs)
  return { state: { last: fix, fingerprints, zones }, events }
}

/**
 * True if a fix leaves all states of the same set of zones unchanged, as nearly all do: it is inside the zones that the
 * device is certainly in, and clearly outside the others.
 */
function staysAsItWas(known: readonly ZoneState[], watched: WatchedZones, last: Fix, fix: Fix): boolean {
  const { zones } = watched
  let knownPlace = 0
  for (let place = 0; place < zones.length; place++) {
    const zone = zones[place]
    // the last fix is never far from a zone that contains the device
    if (zone === undefined || isFarFrom(watched, place, last, fix)) continue
    const state = known[knownPlace]
    const isOutside = locate(zone, fix) === 'outside'
    if (state?.id === zone.id) {
      if (isOutside || !isInForCertain(state)) return false
      knownPlace++
    } else if (!isOutside || passageThrough(zone, last, fix) !== null) return false
  }
  return knownPlace === known.length
}

/** True if a device is in a zone and nothing is pending: another fix inside changes nothing. */
export function isInForCertain({ isInside, isAssumed, turnedAt, sinceMs }: ZoneState): boolean {
  return isInside && isAssumed === undefined && turnedAt === undefined && sinceMs !== undefined
}

/** Returns a test for zones that the state covers: those with the same shape as then. */
export function knownZones(state: WatchState, watched: WatchedZones): (zone: WatchedZone) => boolean {
  if (state.fingerprints === watched.fingerprints) return () => true
  const known = new Set(state.fingerprints.split(' '))
  return ({ fingerprint }) => known.has(fingerprint)
}

function stateOf(known: ZoneState | undefined, { id }: WatchedZone, last: Fix | null): ZoneState {
  if (known === undefined) return last === null ? { id, isInside: false } : { id, isInside: false, outsideAt: last }
  if (!known.isInside || known.sinceMs !== undefined || last === null) return known
  return { ...known, sinceMs: last.atMs }
}

/**
 * Initial state of a zone that is new or has a new shape: inside if the last fix was, which the next may change and the
 * one after has to confirm; else as of this fix. `known` is the previous state of the zone with this id.
 */
function firstSight(
  known: ZoneState | undefined,
  zone: WatchedZone,
  last: Fix | null,
  fix: Fix,
  where: ZoneRelation,
): ZoneState | null {
  const { id } = zone
  if (last !== null && locate(zone, last) === 'inside') {
    const assumed = { id, isInside: true, isAssumed: true as const, sinceMs: enteredAt(known, last) }
    return where === 'inside' ? assumed : stepInside(assumed, zone, fix, where, [])
  }
  if (where === 'outside') return null
  return where === 'inside' ? { id, isInside: true, isAssumed: true, sinceMs: fix.atMs } : { id, isInside: false }
}

/** Entry time of a device that was inside at its last fix: earlier if it was in the previous shape of the zone. */
export function enteredAt(known: ZoneState | undefined, last: Fix): number {
  return known?.isInside ? (known.sinceMs ?? last.atMs) : last.atMs
}

/** Null means clearly outside with nothing pending. */
function step(
  state: ZoneState,
  zone: WatchedZone,
  fix: Fix,
  where: ZoneRelation,
  events: ZoneEvent[],
): ZoneState | null {
  return state.isInside ? stepInside(state, zone, fix, where, events) : stepOutside(state, zone, fix, where, events)
}

function stepInside(
  state: ZoneState,
  zone: WatchedZone,
  fix: Fix,
  where: ZoneRelation,
  events: ZoneEvent[],
): ZoneState | null {
  const { id, isAssumed, turnedAt, sinceMs } = state
  // the usual case: returning the same object means that nothing changed
  if (isAssumed === undefined && turnedAt === undefined && where !== 'outside') return state
  const since = sinceMs === undefined ? {} : { sinceMs }
  if (where === 'inside') return { id, isInside: true, ...since }
  const stillInside: ZoneState = { id, isInside: true, ...(isAssumed && { isAssumed }), ...since }
  if (where === 'near') return stillInside
  if (turnedAt === undefined) return { ...stillInside, turnedAt: fix }
  if (!isAssumed) events.push({ kind: 'exit', zoneId: id, ...turnedAt })
  return arriveOutside(zone, turnedAt, fix, turnedAt)
}

function stepOutside(
  { id, outsideAt, turnedAt, passed, leftAt: lastLeftAt }: ZoneState,
  zone: WatchedZone,
  fix: Fix,
  where: ZoneRelation,
  events: ZoneEvent[],
): ZoneState | null {
  const leftAt = lastLeftAt !== undefined && distanceM(lastLeftAt, fix) <= RETURN_M ? lastLeftAt : undefined
  const isBack =
    passed !== undefined &&
    outsideAt !== undefined &&
    (where === 'inside' || passageThrough(zone, outsideAt, fix) !== null)
  if (passed !== undefined && !isBack) {
    events.push({ kind: 'enter', zoneId: id, ...passed.enter }, { kind: 'exit', zoneId: id, ...passed.exit })
  }
  // Back means that the fix beyond the zone was wrong: the path continues from the one before.
  const from = isBack ? passed.from : outsideAt
  if (where === 'outside') {
    return passed !== undefined || from === undefined
      ? outsideSince(id, fix, leftAt)
      : arriveOutside(zone, from, fix, leftAt)
  }
  const stillOutside: ZoneState = {
    id,
    isInside: false,
    ...(from && { outsideAt: from }),
    ...(leftAt && { leftAt }),
  }
  if (where === 'near') return stillOutside
  if (turnedAt === undefined) return { ...stillOutside, turnedAt: fix }
  if (leftAt !== undefined && fix.atMs - turnedAt.atMs < RETURN_MS) return { ...stillOutside, turnedAt }
  events.push({ kind: 'enter', zoneId: id, ...turnedAt })
  return { id, isInside: true, sinceMs: turnedAt.atMs }
}

/** Handles a fix outside like an earlier one: passes through the zone if the straight line between them does. */
function arriveOutside(zone: WatchedZone, from: Fix, fix: Fix, leftAt: Fix | undefined): ZoneState | null {
  const passage = passageThrough(zone, from, fix)
  if (passage === null || !isDirect(from, fix)) return outsideSince(zone.id, fix, leftAt)
  const enter = between(from, fix, passage.enterAt)
  const exit = between(from, fix, passage.exitAt)
  return {
    id: zone.id,
    isInside: false,
    outsideAt: fix,
    passed: { from, enter, exit },
    ...(leftAt && { leftAt }),
  }
}

function outsideSince(id: string, fix: Fix, leftAt: Fix | undefined): ZoneState | null {
  return leftAt === undefined ? null : { id, isInside: false, outsideAt: fix, leftAt }
}

function isDirect(from: Fix, to: Fix): boolean {
  return to.atMs - from.atMs <= MAX_PASSAGE_MS && distanceM(from, to) <= MAX_PASSAGE_M
}

function between(from: Fix, to: Fix, share: number): Fix {
  const at = (a: number, b: number) => Math.round(a + (b - a) * share)
  return {
    atMs: at(from.atMs, to.atMs),
    latE7: at(from.latE7, to.latE7),
    longE7: at(from.longE7, to.longE7),
  }
}
