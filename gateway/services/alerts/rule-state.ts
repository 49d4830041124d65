import type { CartFix } from '#shared/carts/motion.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { BOUND_M_PER_E7, haversineM } from '#shared/trips/earth-distance.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Cart } from '../cart.ts'
import { type SampleColumns, takeFixes, voltagesIn } from '../carts/sample-columns.ts'
import { LIVE_MS } from '../ingest/zone-crossings.ts'
import { type Arrived, appendLimited } from './arrived.ts'
import type { SiteContext } from './site-context.ts'
import { noteCrossings, type ZonesSeen } from './zones-seen.ts'

/** Distance within `WITHIN_MS` that proves movement; a receiver at rest wanders less. */
const MOVED_M = 30
const WITHIN_MS = 2 * MINUTE_MS
/** Minimum interval of kept fixes; closer ones add no information. */
const APART_MS = 3_000

/**
 * Appends the newest fix to a cart's track, which keeps the fixes of the last two minutes and the one before them,
 * oldest first. A fix older than the last one starts a new track: the last one had a wrong timestamp.
 */
function appendFix(way: CartFix[], fix: CartFix): void {
  const last = way.at(-1)
  if (last !== undefined && fix.atMs === last.atMs) return
  const before = way.at(-2)
  if (last !== undefined && fix.atMs < last.atMs) way.length = 0
  else if (last !== undefined && before !== undefined && last.atMs - before.atMs < APART_MS) way.pop()
  let from = 0
  while (from + 1 < way.length && (way[from + 1]?.atMs ?? 0) <= fix.atMs - WITHIN_MS) from++
  if (from > 0) way.splice(0, from)
  way.push(fix)
}

/**
 * True if the newest fix shows that the cart was moved since `fromMs`. A fix without speed counts only if the fix
 * before was as far away: a receiver in a barn is wrong now and then.
 */
function hasMoved(way: readonly CartFix[], fromMs: number, movingKmh: number): boolean {
  const fix = way.at(-1)
  const before = way.at(-2)
  if (fix === undefined || before === undefined) return false
  const stands = fix.speedKmh !== null && fix.speedKmh < movingKmh
  for (const start of way) {
    if (start === fix) return false
    if (start.atMs < fromMs || !isFar(start, fix)) continue
    if (!stands || (start !== before && isFar(start, before))) return true
  }
  return false
}

/**
 * True if two fixes are far enough apart; over a longer time the distance grows by `MOVED_M` for every two minutes,
 * since a moved cart covers that at least once.
 */
function isFar(from: CartFix, to: CartFix): boolean {
  const leastM = MOVED_M * Math.max(1, Math.ceil((to.atMs - from.atMs) / WITHIN_MS))
  const mostM = (Math.abs(to.latE7 - from.latE7) + Math.abs(to.longE7 - from.longE7)) * BOUND_M_PER_E7
  // cheap bound that decides nearly all cases
  if (mostM < leastM) return false
  return haversineM(from.latE7, from.longE7, to.latE7, to.longE7) >= leastM
}

export interface RestingVoltage {
  atMs: number
  voltageV: number
}

/** State of a cart that rules need in addition to its current values. */
export interface CartRuleState {
  /** Time of the first evaluation since the start. */
  evaluatedSinceMs: number | null
  /** Event time of the newest fix. */
  fixAtMs: number | null
  /** Gateway time minus event time of a new fix, if no delay explains it but a wrong clock of either; else 0. */
  clockLagMs: number
  /** Event time since which it is locked; null while it is not. */
  lockedSinceMs: number | null
  /** Track while it is locked or after hours; see `appendFix`. */
  fixes: CartFix[]
  /** Time at which a movement was detected that no alert has reported yet. */
  movedWhileLockedMs: number | null
  movedAfterHoursMs: number | null
  /** Zone events that began and ended between two evaluations. */
  zones: ZonesSeen
  /** Kept during charge time: about one a minute, oldest first. */
  rests: readonly RestingVoltage[]
  /** State of reading `fixes` and `rests` from the history. */
  fixesRead: 'due' | 'reading' | 'read'
  restsRead: 'due' | 'reading' | 'read'
  /** Samples received while the history is being read. */
  waitingFixes: SampleColumns[]
  waitingRests: SampleColumns[]
}

/** Cart of the last evaluation and the state that rules keep for it. */
export interface CartAlertState {
  cart: Cart
  /** No rule finds anything before this time unless more than the cart's position changes; see `skip-unchanged.ts`. */
  nextEvaluationAtMs: number
  /** True if an open alert already reports movement while locked, as of the last evaluation without findings. */
  isMovementReported: boolean
  readonly memory: CartRuleState
}

export function newMemory(): CartRuleState {
  return {
    evaluatedSinceMs: null,
    fixAtMs: null,
    clockLagMs: 0,
    lockedSinceMs: null,
    fixes: [],
    movedWhileLockedMs: null,
    movedAfterHoursMs: null,
    rests: [],
    fixesRead: 'due',
    restsRead: 'due',
    waitingFixes: [],
    waitingRests: [],
    zones: { outside: null, stays: [] },
  }
}

const REST_EVERY_MS = MINUTE_MS
/** Period of kept voltages: the hour that the rule compares, and enough before it. */
export const RESTS_MS = 150 * MINUTE_MS

/** Records an evaluation, once for each: the cart as it is now, and everything received since the evaluation before. */
export function remember(one: CartAlertState, cart: Cart, context: SiteContext, arrived: Arrived): void {
  const hardwareId = cart.verdict.position?.hardwareId
  noteCrossings(one.memory.zones, arrived.crossingsOf(hardwareId), one.cart.verdict, cart, context)
  one.cart = cart
  const { lock, position } = cart.verdict
  const { memory } = one
  rememberLag(memory, position?.fix.atMs ?? null, context)
  memory.evaluatedSinceMs ??= context.nowMs
  if (lock === null || !lock.isLocked) memory.lockedSinceMs = null
  else memory.lockedSinceMs ??= lock.atMs
  rememberTrack(one, context, arrived)
  rememberRest(one, context, arrived)
}

function rememberLag(memory: CartRuleState, fixAtMs: number | null, { nowMs }: SiteContext): void {
  if (fixAtMs === memory.fixAtMs) return
  memory.fixAtMs = fixAtMs
  // the first one may have come long before the start
  if (fixAtMs === null || memory.evaluatedSinceMs === null) return
  const lagMs = nowMs - fixAtMs
  memory.clockLagMs = Math.abs(lagMs) < LIVE_MS ? 0 : lagMs
}

function rememberTrack(one: CartAlertState, context: SiteContext, arrived: Arrived): void {
  const { memory } = one
  const { position } = one.cart.verdict
  if (position === null || !isTrackWatched(memory, context)) {
    if (memory.fixes.length > 0) memory.fixes = []
    if (memory.waitingFixes.length > 0) memory.waitingFixes = []
    return
  }
  const samples = arrived.samplesOf(position.hardwareId)
  if (memory.fixesRead !== 'read') {
    for (const numbers of samples) appendLimited(memory.waitingFixes, numbers)
    return
  }
  if (!isTrackBehind(one, context)) return
  const { fix } = position
  const last = memory.fixes.at(-1)
  // a later last fix had a wrong timestamp
  const before = last !== undefined && last.atMs < fix.atMs ? last : null
  takeFixes([...memory.waitingFixes, ...samples], { last: before, untilMs: fix.atMs - 1 }, (passed) =>
    rememberFix(memory, passed, context),
  )
  memory.waitingFixes = []
  rememberFix(memory, fix, context)
}

function isTrackWatched({ lockedSinceMs }: CartRuleState, { isNight }: SiteContext): boolean {
  return lockedSinceMs !== null || isNight
}

/** True if the track does not yet reach the cart's current position, as right after the first evaluation. */
export function isTrackBehind({ cart, memory }: CartAlertState, context: SiteContext): boolean {
  const fix = cart.verdict.position?.fix
  return fix !== undefined && isTrackWatched(memory, context) && memory.fixes.at(-1)?.atMs !== fix.atMs
}

/** Appends a fix to the track and records the movement that it shows. */
export function rememberFix(memory: CartRuleState, fix: CartFix, context: SiteContext): void {
  const { nowMs, movingKmh, isNight, closedSinceMs, countFromMs } = context
  appendFix(memory.fixes, fix)
  const { fixes, lockedSinceMs } = memory
  if (lockedSinceMs !== null && hasMoved(fixes, Math.max(lockedSinceMs, countFromMs), movingKmh))
    memory.movedWhileLockedMs = nowMs
  if (isNight && hasMoved(fixes, Math.max(closedSinceMs, countFromMs), movingKmh)) memory.movedAfterHoursMs = nowMs
}

/** True if resting voltages must be recorded: the cart stands in the barn at charge time. */
export function isChargeWatched({ cart: { verdict, notes } }: CartAlertState, context: SiteContext): boolean {
  return (
    context.isChargeTime &&
    verdict.isInParking &&
    notes.outOfService === null &&
    context.settings.pack.fullV !== null &&
    verdict.battery?.restV != null
  )
}

/** Returns the time from which voltages are those of a battery at rest. */
export function restedFromMs(
  stillSinceMs: number | null,
  { settings, countFromMs }: { settings: { restAfterS: number }; countFromMs: number },
): number {
  return Math.max(stillSinceMs ?? Number.POSITIVE_INFINITY, countFromMs) + settings.restAfterS * 1000
}

function rememberRest(one: CartAlertState, context: SiteContext, arrived: Arrived): void {
  const { memory } = one
  if (!isChargeWatched(one, context)) {
    if (memory.restsRead === 'read') forgetRests(memory)
    return
  }
  const { battery, stillSinceMs } = one.cart.verdict
  if (battery?.restV == null || battery.restAtMs === null) return
  const samples = arrived.samplesOf(battery.hardwareId)
  if (memory.restsRead !== 'read') {
    for (const numbers of samples) appendLimited(memory.waitingRests, numbers)
    return
  }
  const fromMs = restedFromMs(stillSinceMs, context)
  for (const rest of voltagesIn([...memory.waitingRests, ...samples], fromMs, battery.restAtMs - 1))
    memory.rests = withRest(memory.rests, rest)
  memory.waitingRests = []
  memory.rests = withRest(memory.rests, { atMs: battery.restAtMs, voltageV: battery.restV })
}

/** Adds a voltage. Keeps one a minute; the newest may be younger than that. */
export function withRest(rests: readonly RestingVoltage[], rest: RestingVoltage): readonly RestingVoltage[] {
  const last = rests.at(-1)
  if (last !== undefined && rest.atMs <= last.atMs) return rests
  const before = rests.at(-2)
  const isClose = last !== undefined && before !== undefined && last.atMs - before.atMs < REST_EVERY_MS
  const kept = (isClose ? rests.slice(0, -1) : rests).filter(({ atMs }) => atMs >= rest.atMs - RESTS_MS)
  return [...kept, rest]
}

function forgetRests(memory: CartRuleState): void {
  memory.rests = []
  memory.waitingRests = []
  memory.restsRead = 'due'
}

/** Clears what was recorded for a kind once it is reported or over. */
export function used(memory: CartRuleState, kind: AlertKind, subject: string): void {
  if (kind === 'moved_while_locked') memory.movedWhileLockedMs = null
  if (kind === 'moved_after_hours') memory.movedAfterHoursMs = null
  if (kind === 'outside') memory.zones.outside = null
  if (kind === 'zone_stay') memory.zones.stays = memory.zones.stays.filter(({ zoneId }) => zoneId !== subject)
}

/** Starts again after the clock was set, because durations are unknown then. */
export function resetTimers(memory: CartRuleState): void {
  memory.clockLagMs = 0
  memory.fixes = []
  memory.waitingFixes = []
  memory.zones = { outside: null, stays: [] }
  memory.fixesRead = 'read'
  memory.lockedSinceMs = null
  forgetRests(memory)
}
