import { DAY_MS } from '#shared/time.ts'
import { DAY_START_HOUR } from './itinerary.ts'
import type { LatLong } from './plane.ts'

const HOUR_MS = DAY_MS / 24
export const DAY_S = DAY_MS / 1000

/** The number of the model day `atMs` lies in: days since 1970 that begin at 04:00 on the course. */
export function dayOf(atMs: number, center: LatLong): number {
  return Math.floor((atMs - firstDayStartMs(center)) / DAY_MS)
}

export function dayStartMs(day: number, center: LatLong): number {
  return day * DAY_MS + firstDayStartMs(center)
}

/** The course is ahead of UTC by the sun: by whole hours of its longitude. */
function firstDayStartMs(center: LatLong): number {
  return (DAY_START_HOUR - Math.round(center.long / 15)) * HOUR_MS
}
