import type { ReportDay } from '#shared/reports/day-sums.ts'
import { TimeOut } from '#shared/reports/time-out.ts'
import { BATTERY } from '#shared/telemetry/records.ts'
import { watchedZones } from '#shared/zones/watched-zones.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { cartTrackOf, LOOKBACK_MS } from './cart-days.ts'
import type { WatchedCart } from './traffic.ts'

export interface SilencesQuery {
  cart: WatchedCart
  /** Consecutive ranges of time. */
  days: readonly ReportDay[]
  /** Longest time between two records that is not a signal loss. */
  longestStepMs: number
}

/** Signal loss of a cart that was out: from one record to the next, or to the end of the range. */
export interface Silence {
  fromMs: number
  untilMs: number
  /** True if the signal was still lost at the end. */
  isOpen: boolean
  /** Last fix before the signal loss. */
  latE7: number
  longE7: number
}

/** Signal losses of a cart while it was out, oldest first. Throws `too_many_positions`. */
export function readSilences(tools: ReaderTools, { cart, days, longestStepMs }: SilencesQuery): Silence[] {
  const { devices, parking } = cart
  const endMs = days.at(-1)?.untilMs ?? 0
  const firstMs = days[0]?.fromMs ?? 0
  const silences: Silence[] = []
  const outings = new TimeOut(watchedZones(parking), (fromMs, untilMs, latE7, longE7) => {
    // a signal loss from before the range belongs to an earlier one
    if (untilMs - fromMs <= longestStepMs || fromMs + longestStepMs < firstMs) return
    const ids = [...devices.locks, ...devices.others]
    for (const [from, until] of silencesBetween(tools, ids, { fromMs, untilMs, longestStepMs }))
      silences.push({ fromMs: from, untilMs: until, isOpen: until === endMs, latE7, longE7 })
  })
  const { before, byDay } = cartTrackOf(tools, devices, days, LOOKBACK_MS)
  outings.take(before)
  for (const fixes of byDay) outings.take(fixes)
  outings.end(endMs)
  return silences
}

/** Splits the time between two fixes at voltages: a cart without a position may still report its voltage. */
function silencesBetween(
  { telemetry }: ReaderTools,
  ids: readonly number[],
  { fromMs, untilMs, longestStepMs }: { fromMs: number; untilMs: number; longestStepMs: number },
): [fromMs: number, untilMs: number][] {
  const voltageTimes = ids.flatMap((id) => {
    const page = { fromMs: fromMs + 1, toMs: untilMs - 1, order: 'asc', limit: VOLTAGES_MAX } as const
    return [...telemetry.page(BATTERY, id, page).atMs]
  })
  const times = [fromMs, ...voltageTimes.sort((a, b) => a - b), untilMs]
  return times.slice(1).flatMap((atMs, i): [number, number][] => {
    const before = times[i] ?? atMs
    return atMs - before > longestStepMs ? [[before, atMs]] : []
  })
}

/** Maximum number of voltages read between two fixes. */
const VOLTAGES_MAX = 10_000
