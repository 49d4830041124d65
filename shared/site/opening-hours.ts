import type { OpenHours, OpeningHours, Weekday } from './settings.ts'
import { dateAfter, type TimeZone } from './time-zone.ts'

export interface OpenDay {
  /** `2026-05-01` */
  date: string
  opensMs: number
  closesMs: number
}

/** Starts with Sunday, like `Date.getUTCDay`. */
const BY_DAY_NUMBER: readonly Weekday[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const WEEK_DAYS = 7
export const TIME = /^([01]\d|2[0-3]):([0-5]\d)$|^24:00$/

/** Opening calendar of a course, in its local time. */
export class Calendar {
  readonly #zone: TimeZone
  readonly #hours: OpeningHours | null

  /** Without `hours` (null) the course never opens or closes. */
  constructor(zone: TimeZone, hours: OpeningHours | null) {
    this.#zone = zone
    this.#hours = hours
  }

  /** True if the course is known to be closed. */
  isClosed(atMs: number): boolean {
    if (this.#hours === null) return false
    // hours until midnight end where the next day begins
    const today = this.#on(this.#zone.local(atMs).date)
    return today === null || atMs < today.opensMs || atMs >= today.closesMs
  }

  /** Returns the newest day whose closing time is at or before `atMs`. */
  lastClosing(atMs: number): OpenDay | null {
    return this.#find(atMs, -1, ({ closesMs }) => closesMs <= atMs)
  }

  /** Returns the first day whose closing time is after `atMs`. */
  nextClosing(atMs: number): OpenDay | null {
    return this.#find(atMs, 1, ({ closesMs }) => closesMs > atMs)
  }

  /** Returns the first day whose opening time is after `atMs`. */
  nextOpening(atMs: number): OpenDay | null {
    return this.#find(atMs, 1, ({ opensMs }) => opensMs > atMs)
  }

  /** Returns the newest day whose opening time is at or before `atMs`. */
  lastOpening(atMs: number): OpenDay | null {
    return this.#find(atMs, -1, ({ opensMs }) => opensMs <= atMs)
  }

  /** Searches the days from that of `atMs`, one week forward or back. */
  #find(atMs: number, step: 1 | -1, fits: (day: OpenDay) => boolean): OpenDay | null {
    if (this.#hours === null) return null
    const { date } = this.#zone.local(atMs)
    for (let days = 0; days <= WEEK_DAYS; days++) {
      const day = this.#on(dateAfter(date, days * step))
      if (day !== null && fits(day)) return day
    }
    return null
  }

  #on(date: string): OpenDay | null {
    const hours = this.#hours?.[weekdayOf(date)] ?? null
    return hours === null ? null : { date, ...instantsOf(this.#zone, date, hours) }
  }
}

/** End of settings that apply for the day: the next closing time, or else the end of the local day. */
export function closingMs(calendar: Calendar, zone: TimeZone, atMs: number): number {
  return calendar.nextClosing(atMs)?.closesMs ?? zone.day(zone.local(atMs).date).untilMs
}

function weekdayOf(date: string): Weekday {
  return BY_DAY_NUMBER[new Date(Date.parse(date)).getUTCDay()] ?? 'sun'
}

function instantsOf(zone: TimeZone, date: string, { opensMinute, closesMinute }: OpenHours) {
  return { opensMs: zone.instantOf(date, opensMinute), closesMs: zone.instantOf(date, closesMinute) }
}

/** Reads opening and closing time as `["HH:MM", "HH:MM"]`; undefined for anything else. */
export function readOpenHours(open: unknown): OpenHours | undefined {
  if (!Array.isArray(open) || open.length !== 2) return undefined
  const [opensMinute, closesMinute] = open.map(readMinute)
  if (opensMinute === undefined || closesMinute === undefined || closesMinute <= opensMinute) return undefined
  return { opensMinute, closesMinute }
}

function readMinute(text: unknown): number | undefined {
  if (typeof text !== 'string' || !TIME.test(text)) return undefined
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}
