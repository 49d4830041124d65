import { isCalendarDate } from '#shared/site/time-zone.ts'

const PAGE = 'replay'

/** What comes after More in the address of a replay: `replay/2026-05-01`. */
export function replayPath(date: string): string {
  return `${PAGE}/${date}`
}

/** The day of a replay; null where the address says none. */
export function readReplayPath(path: string | null): string | null {
  const date = (path ?? '').slice(PAGE.length + 1)
  return isCalendarDate(date) ? date : null
}
