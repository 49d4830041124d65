import { dateAfter } from '#shared/site/time-zone.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { MailReportFields } from '#shared/wire/notifiers.ts'
import type { Site } from '../site.ts'

type Times = Pick<MailReportFields, 'report' | 'at'>
type Calendar = Pick<Site, 'timeZone' | 'calendar'>

/** Time from closing to the report of the day. */
const AFTER_CLOSING_MS = 30 * MINUTE_MS

/** Returns the newest day or month whose report is due, and since when; null without opening hours. */
export function lastDue(
  times: Times,
  { timeZone, calendar }: Calendar,
  nowMs: number,
): { period: string; dueMs: number } | null {
  if (times.at === 'closing') {
    const day = calendar.lastClosing(nowMs - AFTER_CLOSING_MS)
    return day && { period: day.date, dueMs: day.closesMs + AFTER_CLOSING_MS }
  }
  const minute = minuteOf(times.at)
  let date = sendingDate(times, timeZone.local(nowMs).date)
  if (timeZone.instantOf(date, minute) > nowMs) date = sendingDate(times, dateAfter(date, -1))
  const before = dateAfter(date, -1)
  return { period: times.report === 'day' ? before : before.slice(0, 7), dueMs: timeZone.instantOf(date, minute) }
}

/** Returns the time at which the next report is due; null without opening hours. */
export function nextDueMs(times: Times, { timeZone, calendar }: Calendar, nowMs: number): number | null {
  if (times.at === 'closing') {
    const day = calendar.nextClosing(nowMs - AFTER_CLOSING_MS)
    return day && day.closesMs + AFTER_CLOSING_MS
  }
  const minute = minuteOf(times.at)
  const { date } = timeZone.local(nowMs)
  const dates =
    times.report === 'day' ? [date, dateAfter(date, 1)] : [firstOf(date), firstOf(dateAfter(firstOf(date), 31))]
  return dates.map((one) => timeZone.instantOf(one, minute)).find((atMs) => atMs > nowMs) ?? null
}

/** Returns the day on which a report is sent: this one, or the first of its month. */
function sendingDate({ report }: Times, date: string): string {
  return report === 'day' ? date : firstOf(date)
}

function firstOf(date: string): string {
  return `${date.slice(0, 7)}-01`
}

function minuteOf(at: string): number {
  return Number(at.slice(0, 2)) * 60 + Number(at.slice(3))
}
