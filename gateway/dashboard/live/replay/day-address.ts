import { dateAfter, isCalendarDate } from '#shared/site/time-zone.ts'

/** Which cart on which local day; null for one that the address does not say. */
export interface DayAddress {
  cart: string | null
  date: string | null
}

const PAGE = 'day'

/** What comes after More in the address of a cart's day: `day/17/2026-05-01`. The day is last, as carts may have a slash. */
export function dayPath(cart: string, date: string): string {
  return `${PAGE}/${cart}/${date}`
}

export function readDayPath(path: string | null): DayAddress {
  const rest = (path ?? '').slice(PAGE.length + 1)
  if (rest === '') return { cart: null, date: null }
  const slash = rest.lastIndexOf('/')
  const last = rest.slice(slash + 1)
  return slash > 0 && isCalendarDate(last)
    ? { cart: rest.slice(0, slash), date: last }
    : { cart: rest, date: null }
}

/** The day before or after another; the other itself where that is beyond what dates can say. */
export function dayBeside(date: string, days: -1 | 1): string {
  const beside = dateAfter(date, days)
  return isCalendarDate(beside) ? beside : date
}
