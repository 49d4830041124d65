import { isCalendarDate } from '#shared/site/time-zone.ts'

const PAGE = 'replay'

/** Builds the part after More in the address of a replay: `replay/2026-05-01`. */
export function replayPath(date: string): string {
  return `${PAGE}/${date}`
}

/** Reads the day of a replay; null if the address has none. */
export function readReplayPath(path: string | null): string | null {
  const date = (path ?? '').slice(PAGE.length + 1)
  return isCalendarDate(date) ? date : null
}
