import { MINUTE_MS } from '#shared/time.ts'
import type { CartCase } from './memory.ts'
import type { CartRule } from './rule.ts'

const NONE: readonly string[] = []

/** Two connections take the id of one of its devices from each other. */
export const DEVICE_TWICE: CartRule = {
  kind: 'device_twice',
  brake: null,
  subjectsOf: ({ cart: { devices } }) =>
    devices.some(({ contestedAtMs }) => contestedAtMs !== null)
      ? devices.filter(({ contestedAtMs }) => contestedAtMs !== null).map(({ row }) => row.hardwareId)
      : NONE,
  judge(one, { nowMs }, _open, hardwareId) {
    const device = deviceOf(one, hardwareId)
    if (device === undefined) return 'over'
    if (device.contestedAtMs !== null) return isRecent(device.contestedAtMs, nowMs) ? 'holds' : 'over'
    // after a start it is not known what was before
    return isRecent(one.memory.lookedFromMs ?? nowMs, nowMs) ? 'unsure' : 'over'
  },
  tell: (_one, _ground, hardwareId) => ({ hardwareId, details: { hardware_id: hardwareId } }),
}

function deviceOf({ cart: { devices } }: CartCase, hardwareId: string) {
  return devices.find(({ row }) => row.hardwareId === hardwareId)
}

/** A clock may have been set back since. */
function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < MINUTE_MS
}
