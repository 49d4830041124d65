import type { MeterReading } from '#shared/carts/service-due.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { ReportDay } from '#shared/reports/day-sums.ts'
import { dateAfter } from '#shared/site/time-zone.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { ServiceDays } from '#store/service/usage.ts'
import type { Store } from '#store/store.ts'
import type { Cart, MeterSetting } from '../cart.ts'
import type { CartNotesStore } from '../carts/cart-notes-store.ts'
import type { Carts } from '../carts/carts.ts'
import type { CartUsageDay, Reports } from '../reports.ts'
import type { Site } from '../site.ts'

export interface MetersDeps {
  store: Pick<Store, 'read' | 'write'> & { readers: Pick<Store['readers'], 'run'> }
  reports: Pick<Reports, 'usage'>
  carts: Pick<Carts, 'all'>
  cartNotes: Pick<CartNotesStore, 'of'>
  site: Pick<Site, 'timeZone'>
  clock: Clock
  log: Log
}

export interface Meter extends MeterReading {
  /** Start of the first day that counts; null before it. */
  sinceMs: number | null
  /** Reading without what an admin set. */
  counted: MeterReading
}

/** Use of a cart on the days that are not written yet. */
interface OpenUsage {
  atMs: number
  fromDate: string
  devices: Cart['devices']
  days: readonly CartUsageDay[]
}

/** Minute of the local day from which the use of the days before is written. */
const METER_MINUTE = 3 * 60
/** Days that are written again, because devices may send their data late. */
const LATE_DAYS = 7
/** Age up to which the use of the day so far is shown. */
const FRESH_MS = 15 * MINUTE_MS
const ASKER = { owner: 'meters' }

/** Meters of carts: their use by local day, written each night, and that of the day so far. */
export class Meters {
  readonly #deps: MetersDeps
  readonly #open = new Map<string, OpenUsage>()
  #days: ServiceDays = { meteredOn: null, judgedOn: null }

  constructor(deps: MetersDeps) {
    this.#deps = deps
  }

  load(): void {
    this.#days = this.#deps.store.read.serviceDays()
  }

  get days(): ServiceDays {
    return this.#days
  }

  /** Services must be judged again; the write of the change recorded it too. */
  judgeAgain(): void {
    this.#days = { ...this.#days, judgedOn: null }
  }

  async saveDays(days: ServiceDays): Promise<void> {
    const before = this.#days
    await this.#deps.store.write('saveServiceDays', days, () => {
      // a change that came meanwhile must still be judged
      this.#days = this.#days === before ? days : { ...days, judgedOn: null }
    })
  }

  /** Returns the local day whose night is due or done: before 03:00 it is the day before. */
  nightAt(atMs: number): string {
    const { timeZone } = this.#deps.site
    const { date } = timeZone.local(atMs)
    return atMs >= timeZone.instantOf(date, METER_MINUTE) ? date : dateAfter(date, -1)
  }

  /** Returns the meters of carts by key, now or at an earlier time. */
  async readings(carts: readonly Cart[], atMs?: number): Promise<ReadonlyMap<string, Meter>> {
    const { store, clock, cartNotes, site } = this.#deps
    const nowMs = clock.nowMs()
    const fromDate = this.#openFrom(atMs ?? nowMs)
    const keys = carts.map(({ key }) => key)
    const saved = await store.readers.run('savedUsage', { carts: keys, before: fromDate }, ASKER)
    const byCart = new Map(saved.map((one) => [one.cart, one]))
    const meters = new Map<string, Meter>()
    for (const cart of carts) {
      const { key } = cart
      const { days } = atMs === undefined ? await this.#openNow(cart, fromDate) : await this.#read(cart, fromDate, atMs)
      const written = byCart.get(key)
      const counted = readingOf([...days, ...(written === undefined ? [] : [written])])
      const since = written?.since ?? days[0]?.date
      const sinceMs = since === undefined ? null : site.timeZone.day(since).fromMs
      const { meter } = cartNotes.of(key, nowMs)
      meters.set(key, { ...(meter === null ? counted : shown(counted, meter, atMs === undefined)), sinceMs, counted })
    }
    return meters
  }

  /** Writes the use of the days before a local day, as far as it is new or may have changed. */
  async write(night: string, goesOn: () => boolean): Promise<void> {
    const { carts, store, log } = this.#deps
    const days = this.#daysFrom(this.#lateFrom(night), dateAfter(night, -1))
    const keys = new Set(carts.all.map(({ key }) => key))
    for (const key of this.#open.keys()) if (!keys.has(key)) this.#open.delete(key)
    for (const cart of carts.all) {
      if (!goesOn()) return
      const used = await this.#usage(cart, days, true)
      const devices = cart.devices.map(({ row }) => row.hardwareId)
      if (used.length > 0) await store.write('saveCartUsage', { cart: cart.key, devices, days: used })
    }
    await this.saveDays({ ...this.#days, meteredOn: night })
    log.debug({ night, carts: carts.all.length }, 'wrote the use of carts')
  }

  /** First day that a night writes: after a stop, the day before it too. */
  #lateFrom(night: string): string {
    const late = dateAfter(night, -LATE_DAYS)
    const { meteredOn } = this.#days
    return meteredOn !== null && meteredOn < late ? meteredOn : late
  }

  /** First day that is read from telemetry, because no night has written it. */
  #openFrom(atMs: number): string {
    const { date } = this.#deps.site.timeZone.local(atMs)
    const from = this.#days.meteredOn ?? dateAfter(date, -LATE_DAYS)
    return from < date ? from : date
  }

  #daysFrom(first: string, last: string): ReportDay[] {
    const days: ReportDay[] = []
    for (let date = first; date <= last; date = dateAfter(date, 1))
      days.push({ date, ...this.#deps.site.timeZone.day(date) })
    return days
  }

  async #openNow(cart: Cart, fromDate: string): Promise<OpenUsage> {
    const nowMs = this.#deps.clock.nowMs()
    const known = this.#open.get(cart.key)
    const isFresh = known?.fromDate === fromDate && Math.abs(nowMs - known.atMs) < FRESH_MS
    if (known !== undefined && isFresh && known.devices === cart.devices) return known
    const read = await this.#read(cart, fromDate, nowMs)
    this.#open.set(cart.key, read)
    return read
  }

  async #read(cart: Cart, fromDate: string, atMs: number): Promise<OpenUsage> {
    const days = this.#daysFrom(fromDate, this.#deps.site.timeZone.local(atMs).date)
    const begun = days.map((day) => ({ ...day, untilMs: Math.min(day.untilMs, atMs + 1) }))
    return { atMs, fromDate, devices: cart.devices, days: await this.#usage(cart, begun, false) }
  }

  async #usage(cart: Cart, days: readonly ReportDay[], isPartOfLongRead: boolean): Promise<CartUsageDay[]> {
    try {
      return await this.#deps.reports.usage([cart], days, { ...ASKER, isPartOfLongRead })
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error
      this.#deps.log.warn({ cart: cart.key, reason: error.message }, 'use of a cart not counted')
      return []
    }
  }
}

function readingOf(days: readonly Pick<CartUsageDay, 'outMs' | 'distanceM' | 'rounds'>[]): MeterReading {
  const sum = (of: (day: (typeof days)[number]) => number) => days.reduce((all, day) => all + of(day), 0)
  return {
    hours: rounded(sum(({ outMs }) => outMs) / HOUR_MS),
    km: rounded(sum(({ distanceM }) => distanceM) / 1000),
    rounds: sum(({ rounds }) => rounds),
  }
}

/** A database restored from a hub has less use by day: the meter of the present shows what was set at least. */
function shown(counted: MeterReading, { set, counted: then }: MeterSetting, isNow: boolean): MeterReading {
  const least = (of: keyof MeterReading) => (isNow ? 0 : -set[of])
  const value = (of: keyof MeterReading) => rounded(set[of] + Math.max(least(of), counted[of] - then[of]))
  return { hours: value('hours'), km: value('km'), rounds: value('rounds') }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
