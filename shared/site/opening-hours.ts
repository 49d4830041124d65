import type { OpenHours, OpeningHours, Weekday } from './settings.ts'
import { dateAfter, type TimeZone } from './time-zone.ts'

/** The opening hours of one local day. */
export interface OpenDay {
  /** `2026-05-01` */
  date: string
  opensMs: number
  closesMs: number
}

/** From Sunday, as `Date.getUTCDay` counts. */
const BY_DAY_NUMBER: readonly Weekday[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const WEEK_DAYS = 7
export const TIME = /^([01]\d|2[0-3]):([0-5]\d)$|^24:00$/

/** When a course is open, by its own clocks. */
export class Calendar {
  readonly #zone: TimeZone
  readonly #hours: OpeningHours | null

  /** `hours` null: none are known, so nothing ever opens or closes. */
  constructor(zone: TimeZone, hours: OpeningHours | null) {
    this.#zone = zone
    this.#hours = hours
  }

  /** Whether it is known to be closed then. */
  isClosed(atMs: number): boolean {
    if (this.#hours === null) return false
    // hours that end at midnight end where the next day begins
    const today = this.#on(this.#zone.local(atMs).date)
    return today === null || atMs < today.opensMs || atMs >= today.closesMs
  }

  /** The newest day whose closing time is `atMs` or before it. */
  lastClosing(atMs: number): OpenDay | null {
    return this.#find(atMs, -1, ({ closesMs }) => closesMs <= atMs)
  }

  /** The first day whose closing time is after `atMs`. */
  nextClosing(atMs: number): OpenDay | null {
    return this.#find(atMs, 1, ({ closesMs }) => closesMs > atMs)
  }

  /** The first day whose opening time is after `atMs`. */
  nextOpening(atMs: number): OpenDay | null {
    return this.#find(atMs, 1, ({ opensMs }) => opensMs > atMs)
  }

  /** Goes through the days from that of `atMs`, one week forward or back. */
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

/** When what holds for the day is over: at the next closing time, or else at the end of the local day. */
export function closingMs(calendar: Calendar, zone: TimeZone, atMs: number): number {
  return calendar.nextClosing(atMs)?.closesMs ?? zone.day(zone.local(atMs).date).untilMs
}

function weekdayOf(date: string): Weekday {
  return BY_DAY_NUMBER[new Date(Date.parse(date)).getUTCDay()] ?? 'sun'
}

function instantsOf(zone: TimeZone, date: string, { opensMinute, closesMinute }: OpenHours) {
  return { opensMs: zone.instantOf(date, opensMinute), closesMs: zone.instantOf(date, closesMinute) }
}

/** Opening and closing as `["HH:MM", "HH:MM"]`; undefined for anything else. */
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
