import { localToMs, nextDay } from './model/local-time.ts'
import type { Entry, Plan } from './plan.ts'

const MINUTE_MS = 60_000

/** True if a plan still shows the failure that is looked for. */
export type Fails = (plan: Plan) => Promise<boolean>

/**
 * Returns a smaller plan that still fails: fewer days, then fewer carts, then fewer entries by delta debugging
 * (Zeller and Hildebrandt, 2002), then entries at whole minutes. Stops early when `isLate`.
 */
export async function shrink(plan: Plan, failsAtMs: number, fails: Fails, isLate: () => boolean): Promise<Plan> {
  const days = daysUntil(plan, failsAtMs)
  let best: Plan = { ...plan, days, entries: plan.entries.filter(({ atMs }) => atMs <= failsAtMs) }
  const better = async (candidate: Plan): Promise<boolean> => {
    if (isLate() || !(await fails(candidate))) return false
    best = candidate
    return true
  }
  for (let kept = 1; kept < days; kept *= 2) if (await better(lastDays(best, kept))) break
  for (let carts = Math.floor(best.carts / 2); carts >= 1; carts = Math.floor(carts / 2)) {
    const entries = best.entries.filter((entry) => !('cart' in entry) || entry.cart <= carts)
    if (!(await better({ ...best, carts, entries }))) break
  }
  for (let parts = 2; best.entries.length > 1; ) {
    const size = Math.ceil(best.entries.length / parts)
    let isSmaller = false
    for (let from = 0; from < best.entries.length && !isLate(); ) {
      const entries = best.entries.filter((_, i) => i < from || i >= from + size)
      if (await better({ ...best, entries })) isSmaller = true
      else from += size
    }
    if (isLate() || (size === 1 && !isSmaller)) break
    if (size > 1) parts *= 2
  }
  const round = (entry: Entry): Entry => ({ ...entry, atMs: Math.round(entry.atMs / MINUTE_MS) * MINUTE_MS })
  if (!(await better({ ...best, entries: best.entries.map(round) })))
    for (let i = 0; i < best.entries.length; i++)
      await better({ ...best, entries: best.entries.map((entry, at) => (at === i ? round(entry) : entry)) })
  return best
}

function daysUntil({ start, days }: Plan, atMs: number): number {
  let date = start
  for (let day = 1; day < days; day++) {
    date = nextDay(date)
    if (localToMs(date, 0) > atMs) return day
  }
  return days
}

/** The same plan begun so that only its last days are left. */
function lastDays(plan: Plan, days: number): Plan {
  let start = plan.start
  for (let day = plan.days; day > days; day--) start = nextDay(start)
  const entries = plan.entries.filter(({ atMs }) => atMs >= localToMs(start, 0))
  return { ...plan, start, days, entries }
}
