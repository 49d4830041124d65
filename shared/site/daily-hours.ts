import type { TimeZone } from './time-zone.ts'

/**
 * True if the local time is between two minutes of the day, the second one exclusive. If the second is not after the
 * first, the range passes midnight.
 */
export function isBetweenHours(
  zone: TimeZone,
  [fromMinute, toMinute]: readonly [number, number],
  atMs: number,
): boolean {
  const { minuteOfDay } = zone.local(atMs)
  return fromMinute < toMinute
    ? minuteOfDay >= fromMinute && minuteOfDay < toMinute
    : minuteOfDay >= fromMinute || minuteOfDay < toMinute
}
