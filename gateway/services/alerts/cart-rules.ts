import { isoOrNull, MINUTE_MS, toIso } from '#shared/time.ts'
import type { Device } from '../fleet.ts'
import { LOW_BATTERY, NOT_CHARGING } from './battery-rules.ts'
import { MOVED_AFTER_HOURS, MOVED_WHILE_LOCKED } from './movement-rules.ts'
import type { CartRule } from './rule.ts'
import type { CartAlertState } from './rule-state.ts'
import type { SiteContext } from './site-context.ts'
import { OUTSIDE, ZONE_STAY } from './zone-rules.ts'

/** Nobody hears of it, and it is not in the barn. */
const SILENT_ON_COURSE: CartRule = {
  kind: 'silent_on_course',
  brake: null,
  evaluate({ cart: { verdict, ground, said } }, _ground, open) {
    const { state, isInParking, heardAtMs } = verdict
    if (isInParking) return 'over'
    if (state === 'silent') {
      // where no barn is known, one that went to sleep may well be in it
      return !ground.hasParking && said.some(({ saidSleep }) => saidSleep) ? 'unsure' : 'holds'
    }
    // after a start nobody is silent for a while, and nobody was heard either
    const saidMs = Date.parse(String(open?.details.last_heard_at))
    return heardAtMs !== null && (Number.isNaN(saidMs) || heardAtMs > saidMs) ? 'over' : 'unsure'
  },
  tell: ({ cart: { verdict } }) => ({
    hardwareId: verdict.position?.hardwareId ?? null,
    details: { last_heard_at: isoOrNull(verdict.heardAtMs) },
  }),
}

const NONE: readonly string[] = []

/** Two connections take the id of one of its devices from each other. */
const DEVICE_TWICE: CartRule = {
  kind: 'device_twice',
  brake: null,
  subjectsOf: (one) => idsOf(one, ({ contestedAtMs }) => contestedAtMs !== null),
  evaluate(one, { nowMs }, _open, hardwareId) {
    const device = deviceOf(one, hardwareId)
    if (device === undefined) return 'over'
    if (device.contestedAtMs !== null) return isRecent(device.contestedAtMs, nowMs) ? 'holds' : 'over'
    // after a start it is not known what was before
    return isRecent(one.memory.lookedFromMs ?? nowMs, nowMs) ? 'unsure' : 'over'
  },
  tell: (_one, _ground, hardwareId) => ({ hardwareId, details: { hardware_id: hardwareId } }),
}

/** The clock of one of its devices is wrong. */
const DEVICE_CLOCK: CartRule = {
  kind: 'device_clock',
  brake: null,
  subjectsOf: (one) => idsOf(one, ({ clock }) => clock.offMs !== null),
  evaluate(one, _ground, _open, hardwareId) {
    const clock = deviceOf(one, hardwareId)?.clock
    if (clock === undefined) return 'over'
    if (clock.offMs !== null) return 'holds'
    return clock.isKnown ? 'over' : 'unsure'
  },
  tell: (one, _ground, hardwareId) => ({
    hardwareId,
    details: { hardware_id: hardwareId, clock_off_s: deviceOf(one, hardwareId)?.clock.offS ?? null },
  }),
}

function idsOf({ cart: { devices } }: CartAlertState, isMeant: (device: Device) => boolean): readonly string[] {
  // nearly always none
  if (!devices.some(isMeant)) return NONE
  return devices.filter(isMeant).map(({ row }) => row.hardwareId)
}

function deviceOf({ cart: { devices } }: CartAlertState, hardwareId: string) {
  return devices.find(({ row }) => row.hardwareId === hardwareId)
}

/** A clock may have been set back since. */
function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < MINUTE_MS
}

/** What is locked at closing has so long to say that it is. */
const LOCKING_MS = MINUTE_MS

/** It is in the barn and not locked after closing time. */
const OPEN_AFTER_CLOSING: CartRule = {
  kind: 'open_after_closing',
  brake: null,
  evaluate({ cart: { verdict, notes, ground: place } }, ground) {
    if (ground.isDay || notes.outOfService !== null || verdict.lock?.isLocked === true) return 'over'
    if (!ground.hasClosed || !place.hasParking || isBeingLocked(ground)) return 'unsure'
    return verdict.isInParking && verdict.lock !== null ? 'holds' : 'unsure'
  },
  tell: ({ cart: { verdict } }, ground) => ({
    hardwareId: verdict.lock?.hardwareId ?? null,
    details: { closed_at: toIso(ground.closedSinceMs) },
  }),
}

/** It is not in the barn after closing time. */
const OUT_AFTER_CLOSING: CartRule = {
  kind: 'out_after_closing',
  brake: 'place',
  evaluate({ cart: { verdict, ground: place } }: CartAlertState, ground) {
    if (ground.isDay || verdict.isInParking) return 'over'
    return ground.hasClosed && place.hasParking && verdict.position !== null ? 'holds' : 'unsure'
  },
  tell: ({ cart: { verdict } }, ground) => ({
    hardwareId: verdict.position?.hardwareId ?? null,
    details: {
      closed_at: toIso(ground.closedSinceMs),
      out_since: verdict.outSinceMs === null ? null : toIso(verdict.outSinceMs),
    },
  }),
}

function isBeingLocked({ settings, nowMs, closedSinceMs }: SiteContext): boolean {
  return settings.lockAtClosing && nowMs - closedSinceMs < LOCKING_MS
}

/** All rules of carts. */
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
  DEVICE_TWICE,
  DEVICE_CLOCK,
]
