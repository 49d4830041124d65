import { dateAfter } from './time-zone.ts'

/** Calendar dates of a period: a month, `2026-05`, or a date. */
export function datesOf(period: string): string[] {
  return period.length === 'YYYY-MM'.length ? datesOfMonth(period) : [period]
}

/** Calendar dates of a month, `2026-05`, in order. */
function datesOfMonth(month: string): string[] {
  const dates: string[] = []
  for (let date = `${month}-01`; date.startsWith(month); date = dateAfter(date, 1)) dates.push(date)
  return dates
}
