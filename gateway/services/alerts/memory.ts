import type { CartFix } from '#shared/carts/motion.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { Cart } from '../cart.ts'
import type { AlertGround } from './ground.ts'
import { follow, hasMoved } from './trail.ts'

/** A voltage at rest. */
export interface RestReading {
  atMs: number
  voltageV: number
}

/** What rules need to know of a cart beside how it is now. */
export interface CartMemory {
  /** Since when (event time) it is locked; null while it is not. */
  lockedSinceMs: number | null
  /** Its way while it is locked, or after hours; see `trail.ts`. */
  fixes: CartFix[]
  /** When it was seen that it was moved, and nothing was made of that yet. */
  movedWhileLockedMs: number | null
  movedAfterHoursMs: number | null
  /** While carts ought to charge: about one a minute, oldest first. */
  rests: readonly RestReading[]
  /** Whether `fixes` and `rests` have what is in the history: `due` is to be read. */
  fixesRead: 'due' | 'reading' | 'read'
  restsRead: 'due' | 'reading' | 'read'
}

/** A cart as it was judged last, and what rules remember of it. */
export interface CartCase {
  cart: Cart
  /** No rule finds anything before then, unless the cart is another in more than its place; see `quiet.ts`. */
  quietUntilMs: number
  /** While it is quiet: that it moves while it is locked is told already. */
  isMoveTold: boolean
  readonly memory: CartMemory
}

/** Of a cart that was never looked at. */
export function newMemory(): CartMemory {
  return {
    ...{ lockedSinceMs: null, fixes: [], movedWhileLockedMs: null, movedAfterHoursMs: null, rests: [] },
    ...{ fixesRead: 'due', restsRead: 'due' },
  }
}

const REST_EVERY_MS = MINUTE_MS
/** An hour and what is before it: what was so long ago has to be known. */
export const RESTS_MS = 150 * MINUTE_MS

/** Takes note of a look, once for each. */
export function remember(one: CartCase, ground: AlertGround): void {
  const { lock, position } = one.cart.verdict
  const { memory } = one
  if (lock === null || !lock.isLocked) memory.lockedSinceMs = null
  else memory.lockedSinceMs ??= lock.atMs
  if (position === null || !isWayWatched(memory, ground)) {
    if (memory.fixes.length > 0) memory.fixes = []
  } else if (memory.fixesRead === 'read' && isWayBehind(one, ground)) {
    rememberFix(memory, position.fix, ground)
  }
  rememberRest(one, ground)
}

function isWayWatched({ lockedSinceMs }: CartMemory, { isNight }: AlertGround): boolean {
  return lockedSinceMs !== null || isNight
}

/** Whether its way is still to be brought up to where it is, as right after the first look. */
export function isWayBehind({ cart, memory }: CartCase, ground: AlertGround): boolean {
  const fix = cart.verdict.position?.fix
  return fix !== undefined && isWayWatched(memory, ground) && memory.fixes.at(-1)?.atMs !== fix.atMs
}

/** Adds a fix to the way, and notes what it tells. */
export function rememberFix(memory: CartMemory, fix: CartFix, ground: AlertGround): void {
  const { nowMs, movingKmh, isNight, closedSinceMs, countFromMs } = ground
  follow(memory.fixes, fix)
  const { fixes, lockedSinceMs } = memory
  if (lockedSinceMs !== null && hasMoved(fixes, Math.max(lockedSinceMs, countFromMs), movingKmh))
    memory.movedWhileLockedMs = nowMs
  if (isNight && hasMoved(fixes, Math.max(closedSinceMs, countFromMs), movingKmh))
    memory.movedAfterHoursMs = nowMs
}

/** Whether its voltages at rest are to be watched: it stands in the barn and carts ought to charge. */
export function isChargeWatched({ cart: { verdict, notes } }: CartCase, ground: AlertGround): boolean {
  return (
    ground.isChargeTime &&
    verdict.isInParking &&
    notes.outOfService === null &&
    ground.settings.pack.fullV !== null &&
    verdict.battery?.restV != null
  )
}

function rememberRest(one: CartCase, ground: AlertGround): void {
  const { memory } = one
  if (!isChargeWatched(one, ground)) {
    if (memory.restsRead === 'read') forgetRests(memory)
    return
  }
  const { battery } = one.cart.verdict
  if (memory.restsRead === 'read' && battery?.restV != null && battery.restAtMs !== null)
    memory.rests = withRest(memory.rests, { atMs: battery.restAtMs, voltageV: battery.restV })
}

/** One a minute; the newest may be younger than that. */
export function withRest(rests: readonly RestReading[], rest: RestReading): readonly RestReading[] {
  const last = rests.at(-1)
  if (last !== undefined && rest.atMs <= last.atMs) return rests
  const before = rests.at(-2)
  const isClose = last !== undefined && before !== undefined && last.atMs - before.atMs < REST_EVERY_MS
  const kept = (isClose ? rests.slice(0, -1) : rests).filter(({ atMs }) => atMs >= rest.atMs - RESTS_MS)
  return [...kept, rest]
}

function forgetRests(memory: CartMemory): void {
  memory.rests = []
  memory.restsRead = 'due'
}

/** What was seen of a kind has been told, or is over. */
export function used(memory: CartMemory, kind: AlertKind): void {
  if (kind === 'moved_while_locked') memory.movedWhileLockedMs = null
  if (kind === 'moved_after_hours') memory.movedAfterHoursMs = null
}

/** Begins anew: by a clock that was set nobody knows how long anything took. */
export function forget(memory: CartMemory): void {
  memory.fixes = []
  memory.fixesRead = 'read'
  memory.lockedSinceMs = null
  forgetRests(memory)
}
