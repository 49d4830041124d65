import { MINUTE_MS } from '#shared/time.ts'
import type { Device } from '../fleet.ts'
import type { CartCase } from './memory.ts'
import type { CartRule } from './rule.ts'

const NONE: readonly string[] = []

/** Two connections take the id of one of its devices from each other. */
export const DEVICE_TWICE: CartRule = {
  kind: 'device_twice',
  brake: null,
  subjectsOf: (one) => idsOf(one, ({ contestedAtMs }) => contestedAtMs !== null),
  judge(one, { nowMs }, _open, hardwareId) {
    const device = deviceOf(one, hardwareId)
    if (device === undefined) return 'over'
    if (device.contestedAtMs !== null) return isRecent(device.contestedAtMs, nowMs) ? 'holds' : 'over'
    // after a start it is not known what was before
    return isRecent(one.memory.lookedFromMs ?? nowMs, nowMs) ? 'unsure' : 'over'
  },
  tell: (_one, _ground, hardwareId) => ({ hardwareId, details: { hardware_id: hardwareId } }),
}

/** The clock of one of its devices is wrong. */
export const DEVICE_CLOCK: CartRule = {
  kind: 'device_clock',
  brake: null,
  subjectsOf: (one) => idsOf(one, ({ clock }) => clock.offMs !== null),
  judge(one, _ground, _open, hardwareId) {
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

function idsOf({ cart: { devices } }: CartCase, isMeant: (device: Device) => boolean): readonly string[] {
  // nearly always none
  if (!devices.some(isMeant)) return NONE
  return devices.filter(isMeant).map(({ row }) => row.hardwareId)
}

function deviceOf({ cart: { devices } }: CartCase, hardwareId: string) {
  return devices.find(({ row }) => row.hardwareId === hardwareId)
}

/** A clock may have been set back since. */
function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < MINUTE_MS
}
