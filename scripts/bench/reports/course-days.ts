import { dayStartMs } from '#scripts/commands/simulate/course/model-day.ts'
import { createCart, createLoggedDevice, type FleetPlan } from '#scripts/commands/simulate/fleet-plan.ts'
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
  const carts = deviceIds.map((deviceId, index) => samplesOfCart(plan, index, deviceId))
  for (let day = firstDay; day < firstDay + days; day++)
    for (const sample of carts.flat()) yield { ...sample, atMs: sample.atMs + (day - MODEL_DAY) * DAY_MS }
}

function samplesOfCart(plan: FleetPlan, index: number, deviceId: number): FilledSample[] {
  const [device] = plan.fleet[index]?.devices ?? []
  if (device === undefined) throw new Error(`cart ${index} has no device`)
  const cart = createCart(plan, index)
  cart.startDay(MODEL_DAY)
  const logged = createLoggedDevice(plan, { device, index, day: MODEL_DAY })
  const startMs = dayStartMs(MODEL_DAY, plan.center)
  const samples: FilledSample[] = []
  for (let second = 1; second <= DAY_MS / 1000; second++) {
    cart.step()
    const sample = logged.observe(startMs + second * 1000, cart)
    if (sample === undefined) continue
    const { lat, long, speed, battery_voltage: volts } = sample.fields
    samples.push({
      deviceId,
      atMs: sample.atMs,
      latE7: toE7(Number(lat)),
      longE7: toE7(Number(long)),
      speedMilliKmh: toMilli(Number(speed)),
      voltageMv: volts === undefined ? Number.NaN : toMilli(Number(volts)),
    })
  }
  return samples
}
