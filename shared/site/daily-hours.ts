import type { TimeZone } from './time-zone.ts'

/**
 * Whether it is between two minutes of the day by the clocks of a place: from the first on, up to the second. Where the
 * second is not after the first, the time passes midnight.
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
