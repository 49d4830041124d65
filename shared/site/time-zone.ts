import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'

export interface LocalTime {
  /** `2026-05-01` */
  date: string
  /** Minutes since local midnight, with a fraction. */
  minuteOfDay: number
}

/** Local day from its first instant to that of the next, which may be 23 or 25 hours. */
export interface LocalDay {
  fromMs: number
  /** Exclusive. */
  untilMs: number
}

/** Offsets change only at quarters of an hour of UTC, in all zones of the IANA database from 1972 on. */
const QUARTER_MS = 15 * MINUTE_MS
const QUARTERS_FROM_MS = Date.UTC(1972, 1, 1)
/** Quarters whose offsets are kept: those of ten days. */
const QUARTERS_KEPT = 1_000

/** Time zone by the IANA database of the runtime. */
export class TimeZone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat
  /** Offsets in ms by the start of their quarter: formatting takes longer than all rules of a cart together. */
  readonly #known = new Map<number, number>()

  /** Throws `RangeError` for an unknown name. */
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

  /** Offset from UTC in ms, positive to the east. */
  offsetMs(atMs: number): number {
    if (!(atMs >= QUARTERS_FROM_MS)) return this.#readOffsetMs(atMs)
    const quarterMs = atMs - (atMs % QUARTER_MS)
    const known = this.#known.get(quarterMs)
    if (known !== undefined) return known
    if (this.#known.size === QUARTERS_KEPT) this.#known.clear()
    const offsetMs = this.#readOffsetMs(quarterMs)
    this.#known.set(quarterMs, offsetMs)
    return offsetMs
  }

  #readOffsetMs(atMs: number): number {
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

  /** Instant of a minute (up to 1,440) of a local day: the first if it occurs twice, the end of the gap if skipped. */
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

  /** Finds the single change of the offset between two instants. */
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

/** Accepted form of a name: only newer runtimes accept an offset such as +02:00, and it is not a place. */
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

/** True for a calendar date, such as `2026-05-01`. */
export function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const atMs = Date.parse(text)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text)
}

/** Returns the date `days` after another; negative for before it. */
export function dateAfter(date: string, days: number): string {
  // noon, so that rounding does not matter
  return new Date(Date.parse(date) + days * DAY_MS + 12 * HOUR_MS).toISOString().slice(0, 10)
}
