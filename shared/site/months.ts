import { dateAfter } from './time-zone.ts'

/** Calendar dates of a month, `2026-05`, in order. */
export function datesOfMonth(month: string): string[] {
  const dates: string[] = []
  for (let date = `${month}-01`; date.startsWith(month); date = dateAfter(date, 1)) dates.push(date)
  return dates
}
