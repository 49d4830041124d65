import { DAY_MS } from '#shared/time.ts'
import { DAY_START_HOUR } from './itinerary.ts'
import type { LatLong } from './plane.ts'

const HOUR_MS = DAY_MS / 24
export const DAY_S = DAY_MS / 1000

/** Returns the number of the model day that contains `atMs`: days since 1970 that start at 04:00 on the course. */
export function dayOf(atMs: number, center: LatLong): number {
  return Math.floor((atMs - firstDayStartMs(center)) / DAY_MS)
}

export function dayStartMs(day: number, center: LatLong): number {
  return day * DAY_MS + firstDayStartMs(center)
}

/** The course is ahead of UTC by solar time: by whole hours of its longitude. */
function firstDayStartMs(center: LatLong): number {
  return (DAY_START_HOUR - Math.round(center.long / 15)) * HOUR_MS
}
