import { DAY_MS } from '#shared/time.ts'
import type { SiteSettingsPatch } from '#shared/wire/site.ts'
import { DAY_START_HOUR, MID_MORNING_S } from './course/itinerary.ts'

const HOUR_MS = DAY_MS / 24
const MID_MORNING_HOUR = DAY_START_HOUR + MID_MORNING_S / 3600
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
/** Before the first cart leaves the barn and after the last has returned. */
const OPENS = '06:00'
const CLOSES = '21:30'

export const COURSE_NAME = 'Simulated course'
/** A lunch after nine holes does not end a trip; the pause between two rounds does. */
export const COURSE_TRIPS = { minimalParkingDuration: 1500 }
const COURSE_PACK = { empty_v: 46.9, full_v: 50.8, low_v: 47.7 }

/** Returns settings of a site that fit simulated carts which start to drive live at `nowMs`. */
export function courseSettings(nowMs: number): SiteSettingsPatch {
  return {
    name: COURSE_NAME,
    time_zone: zoneOfMidMorning(nowMs),
    opening_hours: Object.fromEntries(DAYS.map((day) => [day, [OPENS, CLOSES]])),
    pack: COURSE_PACK,
    auto_lock_after_min: 10,
    lock_at_closing: true,
    trips: COURSE_TRIPS,
  }
}

/** Returns the time zone, in whole hours from UTC, in which it is now mid-morning, as on the course. */
export function zoneOfMidMorning(nowMs: number): string {
  const hours = Math.round(MID_MORNING_HOUR - (nowMs % DAY_MS) / HOUR_MS)
  const ahead = hours < -12 ? hours + 24 : hours
  // POSIX counts to the west
  return ahead === 0 ? 'Etc/GMT' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
}
