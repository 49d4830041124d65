import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartRule } from './rule.ts'
import { type CartAlertState, type CartRuleState, type RestingVoltage, restedFromMs } from './rule-state.ts'

/** So much above the threshold a pack is not low any more: voltages at rest wander. */
const NOT_LOW = 1.02
/** So much more than an hour before is charging. */
const RISEN_V = 0.1
/** Voltages are kept as floating numbers: 0.1 more may be a little less. */
const ROUNDING_V = 1e-6
const CHARGE_MS = HOUR_MS
/** Carts say their voltage often; of one that has not said it for so long nobody knows. */
const FRESH_MS = 60 * MINUTE_MS

/** Its voltage at rest is below the site's threshold. */
export const LOW_BATTERY: CartRule = {
  kind: 'low_battery',
  brake: null,
  evaluate({ cart: { verdict } }, { settings }) {
    const { lowV } = settings.pack
    if (lowV === null) return 'over'
    const restV = verdict.battery?.restV ?? null
    if (restV === null) return 'unsure'
    if (restV < lowV) return 'holds'
    return restV >= lowV * NOT_LOW ? 'over' : 'unsure'
  },
  tell: ({ cart: { verdict } }, { settings }) => ({
    hardwareId: verdict.battery?.hardwareId ?? null,
    details: { voltage: verdict.battery?.restV, threshold: settings.pack.lowV },
  }),
}

/** It stands in the barn a few hours before opening, is not full, and its voltage has not risen for an hour. */
export const NOT_CHARGING: CartRule = {
  kind: 'not_charging',
  brake: 'time',
  evaluate({ cart: { verdict, notes }, memory }, ground) {
    const { fullV } = ground.settings.pack
    if (fullV === null || notes.outOfService !== null || ground.isDay) return 'over'
    if (verdict.position !== null && !verdict.isInParking) return 'over'
    const restV = verdict.battery?.restV ?? null
    if (restV === null) return 'unsure'
    if (restV >= fullV) return 'over'
    const pair = hourApart(memory.rests, restedFromMs(verdict.stillSinceMs, ground))
    if (pair === null || !ground.isChargeTime) return 'unsure'
    const [before, now] = pair
    if (now.voltageV - before.voltageV >= RISEN_V - ROUNDING_V) return 'over'
    return ground.nowMs - now.atMs < FRESH_MS ? 'holds' : 'unsure'
  },
  tell({ cart: { verdict }, memory }: CartAlertState, ground) {
    const before = hourApart(memory.rests, restedFromMs(verdict.stillSinceMs, ground))?.[0]
    return {
      hardwareId: verdict.battery?.hardwareId ?? null,
      details: { voltage: verdict.battery?.restV, since: before === undefined ? null : toIso(before.atMs) },
    }
  },
}

/** The newest reading, and the newest of an hour before it or more; null when there is none. */
function hourApart(
  rests: CartRuleState['rests'],
  fromMs: number,
): [before: RestingVoltage, now: RestingVoltage] | null {
  const now = rests.at(-1)
  if (now === undefined) return null
  const before = rests.findLast(({ atMs }) => atMs <= now.atMs - CHARGE_MS)
  return before === undefined || before.atMs < fromMs ? null : [before, now]
}
