import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'

/** A moment as the clocks of a place show it. */
export interface LocalTime {
  /** `2026-05-01` */
  date: string
  /** Since local midnight; with a fraction. */
  minuteOfDay: number
}

/** From the first instant of a local day to the first of the next, which may be 23 or 25 hours. */
export interface LocalDay {
  fromMs: number
  /** Exclusive. */
  untilMs: number
}

/** The clocks of a place, by the IANA time zone database of the runtime. */
export class TimeZone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat

  /** Throws `RangeError` for a name that is no time zone. */
  constructor(name: string) {
    this.name = name
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
  }

  /** What the clocks are ahead of UTC, in milliseconds. */
  offsetMs(atMs: number): number {
    const wholeMs = Math.floor(atMs / 1000) * 1000
    const part = Object.fromEntries(this.#format.formatToParts(wholeMs).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
    return Date.UTC(year, month - 1, day, hour, minute, second) - wholeMs
  }

  local(atMs: number): LocalTime {
    const shownMs = atMs + this.offsetMs(atMs)
    const date = new Date(shownMs).toISOString().slice(0, 10)
    return { date, minuteOfDay: (shownMs - Date.parse(date)) / MINUTE_MS }
  }

  /**
   * When the clocks show this minute of a local day (up to 1,440, the end of it): the first time where they show it
   * twice, and the end of the gap where they skip it.
   */
  instantOf(date: string, minuteOfDay: number): number {
    const shownMs = Date.parse(date) + minuteOfDay * MINUTE_MS
    const [before, after] = [this.offsetMs(shownMs - DAY_MS), this.offsetMs(shownMs + DAY_MS)]
    if (before === after) return shownMs - before
    for (const offset of [before, after]) if (this.offsetMs(shownMs - offset) === offset) return shownMs - offset
    return this.#changeBetween(shownMs - DAY_MS, shownMs + DAY_MS)
  }

  day(date: string): LocalDay {
    return { fromMs: this.instantOf(date, 0), untilMs: this.instantOf(dateAfter(date, 1), 0) }
  }

  /** When the offset changes, once, between two instants. */
  #changeBetween(fromMs: number, toMs: number): number {
    const offset = this.offsetMs(fromMs)
    let [low, high] = [fromMs, toMs]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetMs(middle) === offset) low = middle
      else high = middle
    }
    return high
  }
}

/** What a name can be at most: an offset such as +02:00 is taken by newer runtimes only, and is no place. */
export const TIME_ZONE = /^[A-Za-z][A-Za-z0-9_+/-]*$/

export function isTimeZone(name: string): boolean {
  if (!TIME_ZONE.test(name)) return false
  try {
    new TimeZone(name)
    return true
  } catch {
    return false
  }
}

/** Whether it is a day of the calendar, as `2026-05-01`. */
export function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const atMs = Date.parse(text)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text)
}

/** The calendar date some days after another, or before it. */
export function dateAfter(date: string, days: number): string {
  // twelve hours in, so that nothing depends on rounding
  return new Date(Date.parse(date) + days * DAY_MS + 12 * HOUR_MS).toISOString().slice(0, 10)
}
