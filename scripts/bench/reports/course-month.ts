import { dayOf } from '#scripts/commands/simulate/course/model-day.ts'
import { zonesOf } from '#scripts/commands/simulate/course/zones.ts'
import { planFleet } from '#scripts/commands/simulate/fleet-plan.ts'
import { SIMULATED_CENTER as CENTER } from '#scripts/rig/course.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import { FilledFolder } from '../history/fill.ts'
import { samplesOfDays } from './course-days.ts'

const SIZES = { carts: 200, loaded: 200 }
const SHORT = { carts: 8, loaded: 10 }
const SHORT_DAYS = 2
const now = new Date()
const [startMs, endMs] = [
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1),
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth()),
]

export const WEEK_DAYS = 7
export const MONTH_DAYS = (endMs - startMs) / DAY_MS
/** First week of last month, and all of last month, in the queries of reports. */
export const WEEK = `from=${toIso(startMs)}&to=${toIso(startMs + WEEK_DAYS * DAY_MS - 1)}`
export const MONTH = `month=${toIso(startMs).slice(0, 7)}`

/** Starts a gateway on the first days of last month of 200 carts, which all scenarios of a run share. */
export async function startMonth(context: ScenarioContext, days: number, entry = context.entry) {
  const month = await context.bench.shared(createMonth, context)
  const missingDays = (context.isShort ? SHORT_DAYS : days) - month.days
  if (missingDays > 0) {
    const firstDay = dayOf(startMs + DAY_MS / 2, CENTER) + month.days
    const { folder, plan } = month
    await folder.fill(samplesOfDays(plan, folder.deviceIds('cart'), { firstDay, days: missingDays }))
    month.days += missingDays
  }
  return { gateway: await month.folder.start({}, entry), loaded: month.loaded }
}

/** Creates the month without any day, with devices for the load that are not on its carts. */
async function createMonth(context: ScenarioContext) {
  const { carts, loaded: loadedCount } = context.isShort ? SHORT : SIZES
  const plan = planFleet({ seed: 1, carts, center: CENTER, prefix: 'bench' })
  const folder = await FilledFolder.create(context, 'course-month')
  await folder.register(carts, 'cart')
  const loaded = await folder.register(loadedCount, 'loaded')
  const gateway = await folder.start()
  // sunrise and sunset as the simulator computes them
  await gateway.api.call('PATCH /site', { body: { time_zone: 'Etc/GMT+5' } })
  await gateway.api.drawZones(zonesOf(plan.course, carts).features)
  await gateway.process.stop()
  return { folder, plan, loaded, days: 0 }
}
