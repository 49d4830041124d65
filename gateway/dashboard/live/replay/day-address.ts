import { dateAfter, isCalendarDate } from '#shared/site/time-zone.ts'

/** Cart, local day, and start of the replay; null for parts that the address lacks. */
export interface DayAddress {
  cart: string | null
  date: string | null
  atMs: number | null
}

const PAGE = 'day'

/** `2026-05-01`, or with a moment `2026-05-01@1777618800000`. */
const DAY = /^([^@]+)(?:@(\d{1,15}))?$/

/**
 * Builds the part after More in the address of a cart's day: `day/17/2026-05-01`, or with a moment
 * `day/17/2026-05-01@1777618800000`. The day is last, because cart numbers may contain a slash.
 */
export function dayPath(cart: string, date: string, atMs: number | null = null): string {
  return `${PAGE}/${cart}/${date}${atMs === null ? '' : `@${atMs}`}`
}

export function readDayPath(path: string | null): DayAddress {
  const rest = (path ?? '').slice(PAGE.length + 1)
  if (rest === '') return { cart: null, date: null, atMs: null }
  const slash = rest.lastIndexOf('/')
  const [, date = '', at] = DAY.exec(rest.slice(slash + 1)) ?? []
  return slash > 0 && isCalendarDate(date)
    ? { cart: rest.slice(0, slash), date, atMs: at === undefined ? null : Number(at) }
    : { cart: rest, date: null, atMs: null }
}

/** Returns the day before or after another; the same day at the limit of the date range. */
export function adjacentDay(date: string, days: -1 | 1): string {
  const adjacent = dateAfter(date, days)
  return isCalendarDate(adjacent) ? adjacent : date
}
