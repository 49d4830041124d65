import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { CartRule } from './rule.ts'
import { type CartAlertState, type CartRuleState, type RestingVoltage, restedFromMs } from './rule-state.ts'

/** Factor of the threshold from which the battery counts as recovered: resting voltages fluctuate. */
const NOT_LOW = 1.02
/** Rise within an hour that counts as charging. */
const RISEN_V = 0.1
/** Tolerance for floating-point voltages: a rise of 0.1 may be stored as slightly less. */
const ROUNDING_V = 1e-6
const CHARGE_MS = HOUR_MS
/** Maximum age of a reading; carts report their voltage often, so an older one proves nothing. */
const FRESH_MS = 60 * MINUTE_MS

/** Opens when the resting voltage is below the site's threshold. */
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
  describe: ({ cart: { verdict } }, { settings }) => ({
    hardwareId: verdict.battery?.hardwareId ?? null,
    details: { voltage: verdict.battery?.restV, threshold: settings.pack.lowV },
  }),
}

/** Opens when a cart in the barn is not full a few hours before opening, and its voltage has not risen for an hour. */
export const NOT_CHARGING: CartRule = {
  kind: 'not_charging',
  brake: 'time',
  evaluate({ cart: { verdict, notes }, memory }, context) {
    const { fullV } = context.settings.pack
    if (fullV === null || notes.outOfService !== null || context.isDay) return 'over'
    if (verdict.position !== null && !verdict.isInParking) return 'over'
    const restV = verdict.battery?.restV ?? null
    if (restV === null) return 'unsure'
    if (restV >= fullV) return 'over'
    const pair = hourApart(memory.rests, restedFromMs(verdict.stillSinceMs, context))
    if (pair === null || !context.isChargeTime) return 'unsure'
    const [before, now] = pair
    if (now.voltageV - before.voltageV >= RISEN_V - ROUNDING_V) return 'over'
    return context.nowMs - now.atMs < FRESH_MS ? 'holds' : 'unsure'
  },
  describe({ cart: { verdict }, memory }: CartAlertState, context) {
    const before = hourApart(memory.rests, restedFromMs(verdict.stillSinceMs, context))?.[0]
    return {
      hardwareId: verdict.battery?.hardwareId ?? null,
      details: { voltage: verdict.battery?.restV, since: before === undefined ? null : toIso(before.atMs) },
    }
  },
}

/** Returns the newest reading and the newest one at least an hour older; null if either is missing. */
function hourApart(
  rests: CartRuleState['rests'],
  fromMs: number,
): [before: RestingVoltage, now: RestingVoltage] | null {
  const now = rests.at(-1)
  if (now === undefined) return null
  const before = rests.findLast(({ atMs }) => atMs <= now.atMs - CHARGE_MS)
  return before === undefined || before.atMs < fromMs ? null : [before, now]
}
