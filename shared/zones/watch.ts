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

/** A position of a device and its event time. */
export interface Fix extends Point {
  atMs: number
}

/** A device entered or left a zone: when and where it did, which is before the fix that told it. */
export interface ZoneEvent extends Fix {
  kind: 'enter' | 'exit'
  zoneId: string
}

/** What is known of a device and one zone. */
export interface ZoneState {
  id: string
  isInside: boolean
  /** Inside since then (event time), or known to be; states of an earlier program do not say it. */
  sinceMs?: number
  /** Inside by the first fix there ever was, which no other has confirmed: leaving is no news then. */
  isAssumed?: true
  /** The last fix clearly outside. */
  outsideAt?: Fix
  /** The last fix, if it says the opposite of `isInside`: the next one must agree. */
  turnedAt?: Fix
  /** The last fix was reached from another straight through the zone: the next one must not be back. */
  passed?: { from: Fix; enter: Fix; exit: Fix }
  /** Where it left the zone, as long as it is still there. */
  leftAt?: Fix
}

/**
 * What is known of a device and its zones: JSON, as large as the number of zones it is in or at.
 * Zones that are not in `zones` but in `fingerprints` are those it was clearly outside of at `last`.
 */
export interface WatchState {
  last: Fix | null
  fingerprints: string
  zones: readonly ZoneState[]
}

const NO_EVENTS: readonly ZoneEvent[] = []

/** Of a device that was never seen. */
export const NO_ZONE_STATE: WatchState = { last: null, fingerprints: '', zones: [] }

/** Between fixes farther apart in time nobody knows which way a cart took. */
const MAX_PASSAGE_MS = 60_000
/** A cart does not get farther in that time. */
const MAX_PASSAGE_M = 400

/**
 * A cart that stands a few metres beside a zone may wander in and out of it. Having left it once it is back only when
 * it has been inside for this long, unless it has been this far from where it left.
 */
const RETURN_MS = 120_000
export const RETURN_M = 30

/**
 * Looks at the next fix of a device. No single fix raises an event, the one after it has to agree:
 * two in the zone after one outside enter it, two outside by more than the buffer leave it, and a way from outside to
 * outside straight through it does both unless the next fix is back.
 * A fix that is not newer than the last changes nothing, nor does one that is NaN; a last fix later than `latestMs` was
 * the mistake of a clock and is forgotten. What was unknown before, because the device or the zone is new or the shape
 * another one, becomes known silently; a zone that is gone ends silently.
 */
export function watch(
  state: WatchState,
  watched: WatchedZones,
  { atMs, latE7, longE7 }: Fix,
  latestMs = Number.POSITIVE_INFINITY,
): { state: WatchState; events: readonly ZoneEvent[] } {
  const isLate = state.last !== null && !isNewer(atMs, state.last.atMs, latestMs)
  if (isLate || Number.isNaN(latE7) || Number.isNaN(longE7)) return { state, events: NO_EVENTS }
  // kept and told without whatever else the caller's object has
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
    // of the same set they are in the same order: there may be hundreds
    let known = isSameSet ? before.zones[knownPlace] : before.zones.find(({ id }) => id === zone.id)
    if (known?.id === zone.id) knownPlace++
    else known = undefined
    // nearly all zones nearly always; what follows would come to the same
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
 * Whether a fix leaves all that is known of the zones of the same set as it is, as nearly all do: it is in those that
 * the device is in for certain, and clearly outside of the others.
 */
function staysAsItWas(known: readonly ZoneState[], watched: WatchedZones, last: Fix, fix: Fix): boolean {
  const { zones } = watched
  let knownPlace = 0
  for (let place = 0; place < zones.length; place++) {
    const zone = zones[place]
    // of one that the device is in the last fix is not
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

/** Whether a device is in a zone and nothing is open about that: another fix in there changes nothing. */
export function isInForCertain({ isInside, isAssumed, turnedAt, sinceMs }: ZoneState): boolean {
  return isInside && isAssumed === undefined && turnedAt === undefined && sinceMs !== undefined
}

/** Which zones the state says something of: those that have the shape they had then. */
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
 * Of a zone that is new or has another shape: inside if the last fix was, which the next may change and the one after
 * it has to confirm; else as this one says. `known` is what was known of the zone of this id.
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

/**
 * Since when a device is inside that was inside at its last fix: since before, if it was in the zone as it was then.
 */
export function enteredAt(known: ZoneState | undefined, last: Fix): number {
  return known?.isInside ? (known.sinceMs ?? last.atMs) : last.atMs
}

/** Null stands for clearly outside with nothing pending. */
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
  // nearly always: the same object says that nothing changed
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
  // Back means that the fix beyond the zone was wrong: the way goes on from the one before.
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

/** Outside by this fix as by an earlier one: through the zone, if the straight way between them leads there. */
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
