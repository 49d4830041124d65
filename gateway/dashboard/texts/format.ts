import { KM_PER_MILE, METRES_PER_FOOT, type Measure, toUnits, type Units } from '#shared/units.ts'
import { defineTexts, language } from './texts.ts'

const ageTexts = defineTexts({
  en: {
    seconds: (count: number) => `${count} s`,
    minutes: (count: number) => `${count} min`,
    hours: (count: number) => `${count} h`,
    days: (count: number) => (count === 1 ? '1 day' : `${count} days`),
    ago: (span: string) => `${span} ago`,
  },
  de: {
    seconds: (count: number) => `${count} s`,
    minutes: (count: number) => `${count} min`,
    hours: (count: number) => `${count} Std.`,
    days: (count: number) => (count === 1 ? '1 Tag' : `${count} Tagen`),
    ago: (span: string) => `vor ${span}`,
  },
})

const unitTexts = defineTexts({
  en: {
    metric: { speed: 'km/h', length: 'metres', acceleration: 'm/s²' },
    imperial: { speed: 'mph', length: 'yards', acceleration: 'ft/s²' },
  },
  de: {
    metric: { speed: 'km/h', length: 'Meter', acceleration: 'm/s²' },
    imperial: { speed: 'mph', length: 'Yards', acceleration: 'ft/s²' },
  },
})

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** How long: "48 s", "6 min", "3 h", "2 days". */
export function formatSpan(ms: number): string {
  const texts = ageTexts()
  const spanMs = Math.max(0, ms)
  if (spanMs < MINUTE_MS) return texts.seconds(Math.floor(spanMs / 1000))
  if (spanMs < HOUR_MS) return texts.minutes(Math.floor(spanMs / MINUTE_MS))
  if (spanMs < 2 * DAY_MS) return texts.hours(Math.floor(spanMs / HOUR_MS))
  return texts.days(Math.floor(spanMs / DAY_MS))
}

/** "48 s ago" at `nowMs`, for an ISO 8601 time. */
export function formatAge(at: string, nowMs: number): string {
  return ageTexts().ago(formatSpan(nowMs - Date.parse(at)))
}

/** "14:05" on the clocks of the course. */
export function formatTime(atMs: number, timeZone: string): string {
  return new Intl.DateTimeFormat(locale(), { hour: '2-digit', minute: '2-digit', timeZone }).format(atMs)
}

/** "14:05", or "3 May, 14:05" of another day than that of `nowMs`, on the clocks of the course. */
export function formatMoment(atMs: number, nowMs: number, timeZone: string): string {
  const day = new Intl.DateTimeFormat(locale(), { day: 'numeric', month: 'short', timeZone })
  const time = formatTime(atMs, timeZone)
  return day.format(atMs) === day.format(nowMs) ? time : `${day.format(atMs)}, ${time}`
}

/** "12 km/h", or miles for who measures in miles. */
export function formatSpeed(kmh: number, units: Units): string {
  return `${Math.round(toUnits(kmh, 'speed', units))} ${unitName('speed', units)}`
}

/** "12.5 km", or miles for who measures in miles. */
export function formatDistance(metres: number, units: Units): string {
  const km = metres / 1000
  return units === 'metric' ? `${formatNumber(km, 1)} km` : `${formatNumber(km / KM_PER_MILE, 1)} mi`
}

/** "12 m", or feet for who measures in miles: what is short. */
export function formatLength(metres: number, units: Units): string {
  return units === 'metric'
    ? `${formatNumber(metres, 0)} m`
    : `${formatNumber(metres / METRES_PER_FOOT, 0)} ft`
}

/** "km/h": the unit of a field in which a number is typed. */
export function unitName(measure: Measure, units: Units): string {
  return unitTexts()[units][measure]
}

/** "1,204.5", with as many digits after the point. */
export function formatNumber(value: number, digits: number): string {
  return value.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** "46.4 V". */
export function formatVoltage(volts: number): string {
  return `${volts.toLocaleString(locale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 })} V`
}

/** "1,200,411". */
export function formatCount(count: number): string {
  return count.toLocaleString(locale())
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** "24.1 GB". */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${value.toLocaleString(locale(), { maximumFractionDigits: value < 100 ? 1 : 0 })} ${BYTE_UNITS[power]}`
}

function locale(): string {
  return language.value === 'de' ? 'de-DE' : 'en-GB'
}
