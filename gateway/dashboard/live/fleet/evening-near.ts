import { Calendar, readOpenHours } from '#shared/site/opening-hours.ts'
import { type OpeningHours, WEEKDAYS } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { HOUR_MS } from '#shared/time.ts'
import type { SiteSettingsJson } from '#shared/wire/site.ts'

/** True from an hour before closing until the course opens; always where no opening hours are known. */
export function isEveningNear(settings: Pick<SiteSettingsJson, 'opening_hours' | 'time_zone'> | null, nowMs: number) {
  const hours = settings?.opening_hours
  if (hours == null) return true
  // the keys are all weekdays
  const days = Object.fromEntries(WEEKDAYS.map((day) => [day, readOpenHours(hours[day]) ?? null])) as OpeningHours
  const calendar = new Calendar(new TimeZone(settings?.time_zone ?? 'UTC'), days)
  return calendar.isClosed(nowMs) || calendar.isClosed(nowMs + HOUR_MS)
}
