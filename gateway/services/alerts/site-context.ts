import type { Calendar } from '#shared/site/opening-hours.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import { tripDefaultsOf } from '#shared/site/settings.ts'
import { HOUR_MS } from '#shared/time.ts'
import type { ClosedDay } from '#store/tables/alerts.ts'

/** What holds for all carts at one look. */
export interface SiteContext {
  readonly nowMs: number
  readonly settings: SiteSettings
  /** From this speed on, in km/h, a cart moves. */
  readonly movingKmh: number
  /** By a clock that was set then nothing can be said of before: times count from it at the earliest. */
  readonly countFromMs: number
  /** Closed now, by a clock that is confirmed. */
  readonly isNight: boolean
  /** Open now, or without hours, by a clock that is confirmed: what is of the night is over. */
  readonly isDay: boolean
  /** The last closing time; before all times where there is none. */
  readonly closedSinceMs: number
  /** Closing has been told of, and the night after it goes on. */
  readonly hasClosed: boolean
  /** So little before opening that carts ought to charge. */
  readonly isChargeTime: boolean
}

interface Circumstances {
  nowMs: number
  settings: SiteSettings
  calendar: Calendar
  isClockConfirmed: boolean
  countFromMs: number
  closedDay: ClosedDay | null
}

/** After a stop, or by a clock that was confirmed late, closing is told of for so long. */
const LATE_MS = HOUR_MS

/**
 * The day that closes at this look, else the one that closed before. It acts once a day, whatever its hours are set to
 * later.
 */
export function closedDayAt({ nowMs, calendar, isClockConfirmed, closedDay }: Circumstances): ClosedDay | null {
  if (!isClockConfirmed || !calendar.isClosed(nowMs)) return closedDay
  const closing = calendar.lastClosing(nowMs)
  if (closing === null || closing.date === closedDay?.date || nowMs - closing.closesMs > LATE_MS) return closedDay
  return { date: closing.date, closesAtMs: closing.closesMs }
}

/** What the site and its clocks say of this moment; `closedDay` as `closedDayAt` says it. */
export function siteContextOf(circumstances: Circumstances): SiteContext {
  const { nowMs, settings, calendar, isClockConfirmed, countFromMs, closedDay } = circumstances
  const isClosed = calendar.isClosed(nowMs)
  const closesMs = calendar.lastClosing(nowMs)?.closesMs ?? Number.NEGATIVE_INFINITY
  const isNight = isClosed && isClockConfirmed
  return {
    nowMs,
    settings,
    countFromMs,
    isNight,
    movingKmh: tripDefaultsOf(settings).speedThreshold,
    isDay: !isClosed && isClockConfirmed,
    closedSinceMs: closesMs,
    hasClosed: isNight && closedDay?.closesAtMs === closesMs,
    isChargeTime: isNight && opensWithin(calendar, nowMs, settings.chargeCheckH * HOUR_MS),
  }
}

function opensWithin(calendar: Calendar, nowMs: number, ms: number): boolean {
  const opensMs = calendar.nextOpening(nowMs)?.opensMs
  return opensMs !== undefined && opensMs - nowMs <= ms
}
