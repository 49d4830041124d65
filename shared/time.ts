/** Source of the current time: milliseconds since 1970, UTC. */
export interface Clock {
  nowMs(): number
}

/** Milliseconds since an arbitrary start, unaffected by system clock changes: for windows, rates and timeouts. */
export interface MonotonicClock {
  monotonicMs(): number
}

export const systemClock: Clock & MonotonicClock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** Last formatted second, since 1970, and its text: times of the present are many in a second. */
let lastSecond = Number.NaN
let lastText = ''

/** Formats a time as ISO 8601 in UTC with milliseconds: the only form of a time in JSON. Throws for an invalid one. */
export function toIso(atMs: number): string {
  const wholeMs = Math.trunc(atMs)
  const second = Math.floor(wholeMs / 1000)
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, -'000Z'.length)
    lastSecond = second
  }
  const ms = wholeMs - second * 1000
  return `${lastText}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
}

export function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : toIso(atMs)
}

const ISO_DATE =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+\- ]\d{2}:?\d{2})?)?$/i

/**
 * Parses a date parameter: RFC 3339 or ISO 8601, seconds and fraction optional. No offset means UTC, a date alone UTC
 * midnight, and a space is read as `+` (an undecoded query). 24:00:00 is the midnight that ends the day, second 60 the
 * next second. Returns milliseconds since 1970, or undefined for anything else (including epoch numbers and 30
 * February).
 */
export function parseIso(text: string): number | undefined {
  const match = ISO_DATE.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] = match
  const ms = Number(fraction.padEnd(3, '0').slice(0, 3))
  const local = [Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second)] as const
  const [y, mo, d, h, mi, s] = local
  const isMidnightAfter = h === 24 && mi === 0 && s === 0 && ms === 0
  // 60 is a leap second; it is read as the next second, even where none exists
  if ((h > 23 && !isMidnightAfter) || mi > 59 || s > 60) return undefined
  const date = new Date(0)
  date.setUTCFullYear(y, mo - 1, d)
  if (date.getUTCMonth() !== mo - 1 || date.getUTCDate() !== d) return undefined
  date.setUTCHours(h, mi, s, ms)
  // could not be formatted again
  if (date.getUTCFullYear() > 9999) return undefined
  const offsetMinutes = parseOffsetMinutes(offset)
  return offsetMinutes === undefined ? undefined : date.getTime() - offsetMinutes * MINUTE_MS
}

const ZONE = /:\d{2}\S*(?:Z|[+-]\d{2}:?\d{2})$/i

/** True if a text that `parseIso` accepts contains a time and its zone. */
export function hasZone(text: string): boolean {
  return ZONE.test(text)
}

function parseOffsetMinutes(offset: string): number | undefined {
  if (offset.toUpperCase() === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** Returns midnight, UTC, of the day that contains `atMs`. */
export function startOfDayMs(atMs: number): number {
  return atMs - (((atMs % DAY_MS) + DAY_MS) % DAY_MS)
}

/** True if an event is newer than the known one; a known time after `latestMs` is from a wrong clock and ignored. */
export function isNewer(atMs: number, knownAtMs: number, latestMs: number): boolean {
  return atMs > knownAtMs || knownAtMs > latestMs
}
