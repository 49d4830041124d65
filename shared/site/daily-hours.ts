import type { TimeZone } from './time-zone.ts'

/** True between two minutes of the local day, the second exclusive; past midnight if it is not after the first. */
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
