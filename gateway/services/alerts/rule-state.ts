import type { CartFix } from '#shared/carts/motion.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { BOUND_M_PER_E7, haversineM } from '#shared/trips/earth-distance.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Cart } from '../cart.ts'
import { type SampleColumns, takeFixes, voltagesIn } from '../carts/sample-columns.ts'
import { type Arrived, appendLimited } from './arrived.ts'
import type { SiteContext } from './site-context.ts'
import { noteCrossings, type ZonesSeen } from './zones-seen.ts'

/** A cart that gets so far within `WITHIN_MS` was moved; a receiver at rest wanders less. */
const MOVED_M = 30
const WITHIN_MS = 2 * MINUTE_MS
/** Fixes that are closer tell nothing more. */
const APART_MS = 3_000

/**
 * Adds its newest fix to the way of a cart: those of the last two minutes and the one before them, oldest first. A fix
 * that is older than the last begins a new way: the last was the mistake of a clock.
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
 * Whether the newest fix shows that the cart was moved since `fromMs`. One that says that it stands is believed when
 * the fix before was as far: a receiver in a barn is wrong now and then.
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

/** Over a longer time it is as far from each two minutes to the next at least once. */
function isFar(from: CartFix, to: CartFix): boolean {
  const leastM = MOVED_M * Math.max(1, Math.ceil((to.atMs - from.atMs) / WITHIN_MS))
  const mostM = (Math.abs(to.latE7 - from.latE7) + Math.abs(to.longE7 - from.longE7)) * BOUND_M_PER_E7
  // nearly always, and next to nothing
  if (mostM < leastM) return false
  return haversineM(from.latE7, from.longE7, to.latE7, to.longE7) >= leastM
}

/** A voltage at rest. */
export interface RestingVoltage {
  atMs: number
  voltageV: number
}

/** What rules need to know of a cart beside how it is now. */
export interface CartRuleState {
  /** When it was looked at first since the start. */
  lookedFromMs: number | null
  /** Since when (event time) it is locked; null while it is not. */
  lockedSinceMs: number | null
  /** Its way while it is locked, or after hours; see `trail.ts`. */
  fixes: CartFix[]
  /** When it was seen that it was moved, and nothing was made of that yet. */
  movedWhileLockedMs: number | null
  movedAfterHoursMs: number | null
  /** What became of it in zones between two looks, and was over at the second. */
  zones: ZonesSeen
  /** While carts ought to charge: about one a minute, oldest first. */
  rests: readonly RestingVoltage[]
  /** Whether `fixes` and `rests` have what is in the history: `due` is to be read. */
  fixesRead: 'due' | 'reading' | 'read'
  restsRead: 'due' | 'reading' | 'read'
  /** Samples that came while the history is read. */
  waitingFixes: SampleColumns[]
  waitingRests: SampleColumns[]
}

/** A cart as it was judged last, and what rules remember of it. */
export interface CartAlertState {
  cart: Cart
  /** No rule finds anything before then, unless the cart is another in more than its place; see `quiet.ts`. */
  nextEvaluationAtMs: number
  /** While it is quiet: that it moves while it is locked is told already. */
  isMoveTold: boolean
  readonly memory: CartRuleState
}

/** Of a cart that was never looked at. */
export function newMemory(): CartRuleState {
  return {
    lookedFromMs: null,
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
/** An hour and what is before it: what was so long ago has to be known. */
export const RESTS_MS = 150 * MINUTE_MS

/** Takes note of a look, once for each: of the cart as it is now, and of all that came since the look before. */
export function remember(one: CartAlertState, cart: Cart, ground: SiteContext, arrived: Arrived): void {
  const hardwareId = cart.verdict.position?.hardwareId
  noteCrossings(one.memory.zones, arrived.crossingsOf(hardwareId), one.cart.verdict, cart, ground)
  one.cart = cart
  const { lock } = cart.verdict
  const { memory } = one
  memory.lookedFromMs ??= ground.nowMs
  if (lock === null || !lock.isLocked) memory.lockedSinceMs = null
  else memory.lockedSinceMs ??= lock.atMs
  rememberTrack(one, ground, arrived)
  rememberRest(one, ground, arrived)
}

function rememberTrack(one: CartAlertState, ground: SiteContext, arrived: Arrived): void {
  const { memory } = one
  const { position } = one.cart.verdict
  if (position === null || !isTrackWatched(memory, ground)) {
    if (memory.fixes.length > 0) memory.fixes = []
    if (memory.waitingFixes.length > 0) memory.waitingFixes = []
    return
  }
  const samples = arrived.samplesOf(position.hardwareId)
  if (memory.fixesRead !== 'read') {
    for (const numbers of samples) appendLimited(memory.waitingFixes, numbers)
    return
  }
  if (!isTrackBehind(one, ground)) return
  const { fix } = position
  const last = memory.fixes.at(-1)
  // a last fix that is later was the mistake of a clock
  const before = last !== undefined && last.atMs < fix.atMs ? last : null
  takeFixes([...memory.waitingFixes, ...samples], { last: before, untilMs: fix.atMs - 1 }, (passed) =>
    rememberFix(memory, passed, ground),
  )
  memory.waitingFixes = []
  rememberFix(memory, fix, ground)
}

function isTrackWatched({ lockedSinceMs }: CartRuleState, { isNight }: SiteContext): boolean {
  return lockedSinceMs !== null || isNight
}

/** Whether its way is still to be brought up to where it is, as right after the first look. */
export function isTrackBehind({ cart, memory }: CartAlertState, ground: SiteContext): boolean {
  const fix = cart.verdict.position?.fix
  return fix !== undefined && isTrackWatched(memory, ground) && memory.fixes.at(-1)?.atMs !== fix.atMs
}

/** Adds a fix to the way, and notes what it tells. */
export function rememberFix(memory: CartRuleState, fix: CartFix, ground: SiteContext): void {
  const { nowMs, movingKmh, isNight, closedSinceMs, countFromMs } = ground
  appendFix(memory.fixes, fix)
  const { fixes, lockedSinceMs } = memory
  if (lockedSinceMs !== null && hasMoved(fixes, Math.max(lockedSinceMs, countFromMs), movingKmh))
    memory.movedWhileLockedMs = nowMs
  if (isNight && hasMoved(fixes, Math.max(closedSinceMs, countFromMs), movingKmh)) memory.movedAfterHoursMs = nowMs
}

/** Whether its voltages at rest are to be watched: it stands in the barn and carts ought to charge. */
export function isChargeWatched({ cart: { verdict, notes } }: CartAlertState, ground: SiteContext): boolean {
  return (
    ground.isChargeTime &&
    verdict.isInParking &&
    notes.outOfService === null &&
    ground.settings.pack.fullV !== null &&
    verdict.battery?.restV != null
  )
}

/** From when on its voltages are those of a pack at rest. */
export function restedFromMs(
  stillSinceMs: number | null,
  { settings, countFromMs }: { settings: { restAfterS: number }; countFromMs: number },
): number {
  return Math.max(stillSinceMs ?? Number.POSITIVE_INFINITY, countFromMs) + settings.restAfterS * 1000
}

function rememberRest(one: CartAlertState, ground: SiteContext, arrived: Arrived): void {
  const { memory } = one
  if (!isChargeWatched(one, ground)) {
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
  const fromMs = restedFromMs(stillSinceMs, ground)
  for (const rest of voltagesIn([...memory.waitingRests, ...samples], fromMs, battery.restAtMs - 1))
    memory.rests = withRest(memory.rests, rest)
  memory.waitingRests = []
  memory.rests = withRest(memory.rests, { atMs: battery.restAtMs, voltageV: battery.restV })
}

/** One a minute; the newest may be younger than that. */
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

/** What was seen of a kind has been told, or is over. */
export function used(memory: CartRuleState, kind: AlertKind, subject: string): void {
  if (kind === 'moved_while_locked') memory.movedWhileLockedMs = null
  if (kind === 'moved_after_hours') memory.movedAfterHoursMs = null
  if (kind === 'outside') memory.zones.outside = null
  if (kind === 'zone_stay') memory.zones.stays = memory.zones.stays.filter(({ zoneId }) => zoneId !== subject)
}

/** Begins anew: by a clock that was set nobody knows how long anything took. */
export function resetTimers(memory: CartRuleState): void {
  memory.fixes = []
  memory.waitingFixes = []
  memory.zones = { outside: null, stays: [] }
  memory.fixesRead = 'read'
  memory.lockedSinceMs = null
  forgetRests(memory)
}
