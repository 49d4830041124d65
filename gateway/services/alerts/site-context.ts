import type { Calendar } from '#shared/site/opening-hours.ts'
import type { SiteSettings } from '#shared/site/settings.ts'
import { tripDefaultsOf } from '#shared/site/settings.ts'
import { HOUR_MS } from '#shared/time.ts'
import type { ClosedDay } from '#store/tables/alerts.ts'

/** Recall and waits of the play on the course, and services that are due. */
export interface CourseFacts {
  hasRecall(): boolean
  /** Returns the time in which the party of a cart waited for the one ahead, since a time. */
  waitedMs(cart: string, fromMs: number): number
  /** Returns the plans by which a service of the cart is due; null while unknown. */
  dueServices(cart: string): readonly { plan_id: string; name: string }[] | null
}

/** Facts of a course on which nothing is played. */
export const NO_PLAY: CourseFacts = { hasRecall: () => false, waitedMs: () => 0, dueServices: () => null }

export interface SiteContext {
  readonly nowMs: number
  readonly settings: SiteSettings
  readonly movingKmh: number
  /** Time at which the clock was last set; earlier times are unknown, so durations start here at the earliest. */
  readonly countFromMs: number
  /** True if the site is closed now, by a confirmed clock. */
  readonly isNight: boolean
  /** True if the site is open now or has no hours, by a confirmed clock; alerts of the night are over. */
  readonly isDay: boolean
  /** Last closing time; minus infinity before the first. */
  readonly closedSinceMs: number
  /** True from the handling of a closing until the end of the night after it. */
  readonly hasClosed: boolean
  /** True if opening is so close that carts ought to charge. */
  readonly isChargeTime: boolean
  readonly course: CourseFacts
}

interface Circumstances {
  nowMs: number
  settings: SiteSettings
  calendar: Calendar
  isClockConfirmed: boolean
  countFromMs: number
  closedDay: ClosedDay | null
  course: CourseFacts
}

/** Maximum delay of a closing that is still handled, after a stop or a late confirmation of the clock. */
const LATE_MS = HOUR_MS

/** Returns the day that closes now, else the last closed one. A day closes only once, even if its hours change. */
export function closedDayAt({ nowMs, calendar, isClockConfirmed, closedDay }: Circumstances): ClosedDay | null {
  if (!isClockConfirmed || !calendar.isClosed(nowMs)) return closedDay
  const closing = calendar.lastClosing(nowMs)
  if (closing === null || closing.date === closedDay?.date || nowMs - closing.closesMs > LATE_MS) return closedDay
  return { date: closing.date, closesAtMs: closing.closesMs }
}

/** Builds the context from the site and its clocks; `closedDay` is the result of `closedDayAt`. */
export function siteContextOf(circumstances: Circumstances): SiteContext {
  const { nowMs, settings, calendar, isClockConfirmed, countFromMs, closedDay, course } = circumstances
  const isClosed = calendar.isClosed(nowMs)
  const closesMs = calendar.lastClosing(nowMs)?.closesMs ?? Number.NEGATIVE_INFINITY
  const isNight = isClosed && isClockConfirmed
  return {
    nowMs,
    settings,
    countFromMs,
    course,
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
