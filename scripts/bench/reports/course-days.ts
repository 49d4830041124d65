import { dayStartMs } from '#scripts/commands/simulate/course/model-day.ts'
import { createCart, createLoggedDevice, type FleetPlan } from '#scripts/commands/simulate/fleet-plan.ts'
import type { Sample } from '#scripts/commands/simulate/sample.ts'
import { toE7, toMilli } from '#shared/geo.ts'
import { DAY_MS } from '#shared/time.ts'
import type { FilledSample } from '../history/fill.ts'

/** The simulated day; all days equal it. */
const MODEL_DAY = 20_000

/** Samples of a plan's carts (`deviceIds`, in order) from its day `firstDay` on, as `simulate --history` makes them. */
export function* samplesOfDays(
  plan: FleetPlan,
  deviceIds: readonly number[],
  { firstDay, days }: { firstDay: number; days: number },
): Generator<FilledSample> {
  const ofCarts = plan.fleet.map(({ index }) => packedDay(plan, index))
  for (let day = firstDay; day < firstDay + days; day++)
    for (const [i, numbers] of ofCarts.entries())
      yield* samplesOf(numbers, deviceIds[i] ?? 0, (day - MODEL_DAY) * DAY_MS)
}

const NUMBERS = 5

/** Samples of one day of a cart, packed as numbers: there are some thousand of each. */
function packedDay(plan: FleetPlan, index: number): Float64Array {
  const [device] = plan.fleet[index]?.devices ?? []
  if (device === undefined) throw new Error(`cart ${index} has no device`)
  const cart = createCart(plan, index)
  cart.startDay(MODEL_DAY)
  const logged = createLoggedDevice(plan, { device, index, day: MODEL_DAY })
  const startMs = dayStartMs(MODEL_DAY, plan.center)
  const numbers: number[] = []
  for (let second = 1; second <= DAY_MS / 1000; second++) {
    cart.step()
    const sample = logged.observe(startMs + second * 1000, cart)
    if (sample !== undefined) numbers.push(...numbersOf(sample))
  }
  return Float64Array.from(numbers)
}

function numbersOf({ atMs, fields }: Sample): number[] {
  const { lat, long, speed, battery_voltage: volts } = fields
  return [
    atMs,
    toE7(Number(lat)),
    toE7(Number(long)),
    toMilli(Number(speed)),
    volts === undefined ? Number.NaN : toMilli(Number(volts)),
  ]
}

function* samplesOf(numbers: Float64Array, deviceId: number, laterMs: number): Generator<FilledSample> {
  for (let at = 0; at < numbers.length; at += NUMBERS) {
    const [atMs = 0, latE7 = 0, longE7 = 0, speedMilliKmh = 0, voltageMv = Number.NaN] = numbers.subarray(
      at,
      at + NUMBERS,
    )
    yield { deviceId, atMs: atMs + laterMs, latE7, longE7, speedMilliKmh, voltageMv }
  }
}
