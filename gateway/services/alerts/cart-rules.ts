import { type CartKind, kindRulesOf } from '#shared/site/settings.ts'
import { isoOrNull, MINUTE_MS, toIso } from '#shared/time.ts'
import type { Device } from '../fleet.ts'
import { LOW_BATTERY, NOT_CHARGING } from './battery-rules.ts'
import { MOVED_AFTER_HOURS, MOVED_WHILE_LOCKED } from './movement-rules.ts'
import type { CartRule } from './rule.ts'
import type { CartAlertState } from './rule-state.ts'
import { SERVICE_DUE } from './service-rule.ts'
import type { SiteContext } from './site-context.ts'
import { STANDING } from './standing-rule.ts'
import { OUTSIDE, ZONE_STAY } from './zone-rules.ts'

/** Opens when a cart has lost its signal outside the barn. */
const SILENT_ON_COURSE: CartRule = {
  kind: 'silent_on_course',
  brake: null,
  evaluate({ cart: { verdict, zoneContext, deviceReports } }, { nowMs }, open, _subject, awaited) {
    const { state, isInParking, lastSeenAtMs } = verdict
    if (isInParking) return 'over'
    if (state === 'silent') {
      // without a known barn, a cart that went to sleep may well be in one
      return !zoneContext.hasParking && deviceReports.some(({ announcedSleep }) => announcedSleep) ? 'unsure' : 'holds'
    }
    // for a while after a start no cart is silent, and none was received either
    if (lastSeenAtMs === null) return 'unsure'
    const seenAtOpeningMs = Date.parse(String((open ?? awaited)?.details.last_heard_at))
    if (Number.isNaN(seenAtOpeningMs)) return 'over'
    // a clock that was ahead gave a time to come, and later messages have an earlier one
    const isHeard = seenAtOpeningMs > nowMs ? lastSeenAtMs <= nowMs : lastSeenAtMs > seenAtOpeningMs
    return isHeard ? 'over' : 'unsure'
  },
  describe: ({ cart: { verdict } }) => ({
    hardwareId: verdict.position?.hardwareId ?? null,
    details: { last_heard_at: isoOrNull(verdict.lastSeenAtMs) },
  }),
}

const NONE: readonly string[] = []

/** Opens when two connections keep taking over the id of one of the cart's devices from each other. */
const DEVICE_TWICE: CartRule = {
  kind: 'device_twice',
  brake: null,
  subjectsOf: (one) => idsOf(one, ({ contestedAtMs }) => contestedAtMs !== null),
  evaluate(one, { nowMs }, _open, hardwareId) {
    const device = deviceOf(one, hardwareId)
    if (device === undefined) return 'over'
    if (device.contestedAtMs !== null) return isRecent(device.contestedAtMs, nowMs) ? 'holds' : 'over'
    // after a start the earlier takeovers are unknown
    return isRecent(one.memory.evaluatedSinceMs ?? nowMs, nowMs) ? 'unsure' : 'over'
  },
  describe: (_one, _context, hardwareId) => ({ hardwareId, details: { hardware_id: hardwareId } }),
}

const DEVICE_CLOCK: CartRule = {
  kind: 'device_clock',
  brake: null,
  subjectsOf: (one) => idsOf(one, ({ clock }) => clock.isWrong),
  evaluate(one, _context, _open, hardwareId) {
    const clock = deviceOf(one, hardwareId)?.clock
    if (clock === undefined) return 'over'
    if (clock.isWrong) return 'holds'
    return clock.isKnown && clock.offMs === null ? 'over' : 'unsure'
  },
  describe: (one, _context, hardwareId) => ({
    hardwareId,
    details: { hardware_id: hardwareId, clock_off_s: deviceOf(one, hardwareId)?.clock.offS ?? null },
  }),
}

function idsOf({ cart: { devices } }: CartAlertState, isMeant: (device: Device) => boolean): readonly string[] {
  // avoids an allocation in the usual case
  if (!devices.some(isMeant)) return NONE
  return devices.filter(isMeant).map(({ row }) => row.hardwareId)
}

function deviceOf({ cart: { devices } }: CartAlertState, hardwareId: string) {
  return devices.find(({ row }) => row.hardwareId === hardwareId)
}

/** Compares in both directions, because the clock may have been set back since. */
function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < MINUTE_MS
}

/** Time that carts locked at closing have to report the lock. */
const LOCKING_MS = MINUTE_MS

/** Opens when a cart is in the barn and not locked after closing time. */
const OPEN_AFTER_CLOSING: CartRule = {
  kind: 'open_after_closing',
  brake: null,
  evaluate({ cart: { verdict, notes, zoneContext } }, context) {
    if (context.isDay || notes.outOfService !== null || verdict.lock?.isLocked === true) return 'over'
    if (!context.hasClosed || !zoneContext.hasParking || isBeingLocked(context, notes.kind)) return 'unsure'
    return verdict.isInParking && verdict.lock !== null ? 'holds' : 'unsure'
  },
  describe: ({ cart: { verdict } }, context) => ({
    hardwareId: verdict.lock?.hardwareId ?? null,
    details: { closed_at: toIso(context.closedSinceMs) },
  }),
}

/** Opens when a cart is not in the barn after closing time. */
const OUT_AFTER_CLOSING: CartRule = {
  kind: 'out_after_closing',
  brake: 'place',
  evaluate({ cart: { verdict, zoneContext } }: CartAlertState, context) {
    if (context.isDay || verdict.isInParking) return 'over'
    return context.hasClosed && zoneContext.hasParking && verdict.position !== null ? 'holds' : 'unsure'
  },
  describe: ({ cart: { verdict } }, context) => ({
    hardwareId: verdict.position?.hardwareId ?? null,
    details: {
      closed_at: toIso(context.closedSinceMs),
      out_since: verdict.outSinceMs === null ? null : toIso(verdict.outSinceMs),
    },
  }),
}

function isBeingLocked({ settings, nowMs, closedSinceMs }: SiteContext, kind: CartKind): boolean {
  return kindRulesOf(settings, kind).lockAtClosing && nowMs - closedSinceMs < LOCKING_MS
}

/** Closes calls of a cart that has been parked and locked since; `CallAlerts` opens them. */
const CALL: CartRule = {
  kind: 'call',
  brake: null,
  subjectsOf: () => NONE,
  evaluate({ cart: { verdict }, memory: { lockedSinceMs } }, _context, open) {
    if (open === undefined || verdict.state !== 'in' || lockedSinceMs === null) return 'unsure'
    const parkedSinceMs = verdict.stays.find(({ type }) => type === 'parking')?.sinceMs ?? 0
    // a golfer may call from a cart that was parked and locked already
    return Math.max(parkedSinceMs, lockedSinceMs) > open.openedAtMs ? 'over' : 'unsure'
  },
  describe: () => ({ hardwareId: null, details: {} }),
}

export const CART_RULES: readonly CartRule[] = [
  LOW_BATTERY,
  OUTSIDE,
  ZONE_STAY,
  MOVED_WHILE_LOCKED,
  MOVED_AFTER_HOURS,
  SILENT_ON_COURSE,
  OPEN_AFTER_CLOSING,
  OUT_AFTER_CLOSING,
  NOT_CHARGING,
  STANDING,
  SERVICE_DUE,
  DEVICE_TWICE,
  DEVICE_CLOCK,
  CALL,
]
