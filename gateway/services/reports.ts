import { LOCK_TYPE } from '#shared/carts/cart-state.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { BatteryDay } from '#shared/reports/battery-days.ts'
import type { ReportDay } from '#shared/reports/day-sums.ts'
import { TrafficGrid } from '#shared/reports/traffic-grid.ts'
import { datesOf } from '#shared/site/months.ts'
import { type Clock, DAY_MS } from '#shared/time.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { CartDevices } from '#store/reports/cart-days.ts'
import type { Silence } from '#store/reports/silences.ts'
import type { UsageDay } from '#store/reports/utilisation.ts'
import type { Store } from '#store/store.ts'
import type { TimeRange } from '#store/telemetry/reader.ts'
import type { Cart } from './cart.ts'
import type { Rounds } from './rounds/rounds.ts'
import type { Site } from './site.ts'
import type { Geofences } from './zones/geofences.ts'

interface ReportsDeps {
  store: Pick<Store, 'readers'>
  site: Pick<Site, 'settings' | 'timeZone' | 'tripDefaults'>
  geofences: Pick<Geofences, 'watchedOf'>
  rounds: Pick<Rounds, 'find'>
  clock: Clock
}

export interface SignalLoss extends Silence {
  cart: string
}

export type CartUsageDay = UsageDay & { cart: string; rounds: number }

/** Reader jobs of one report, queued or running at a time. */
const JOBS_IN_FLIGHT = 4
/** Carts whose traffic is summed in one job. */
const CARTS_A_JOB = 8
/** Limit of cells of a traffic map. */
const CELLS_MAX = 10_000
const NOON_MINUTE = 12 * 60

/** Reports on carts, computed on request in the reader threads; no result is stored. */
export class Reports {
  readonly #deps: ReportsDeps

  constructor(deps: ReportsDeps) {
    this.#deps = deps
  }

  /** Returns the use of each cart on the days of a month, or on a date. Throws `too_many_positions`. */
  utilisation(carts: readonly Cart[], period: string, asker: JobOptions): Promise<CartUsageDay[]> {
    return this.usage(carts, this.#daysOf(period), asker)
  }

  /** Returns the use of each cart on consecutive days. Throws `too_many_positions`. */
  async usage(carts: readonly Cart[], days: readonly ReportDay[], asker: JobOptions): Promise<CartUsageDay[]> {
    const { store, site } = this.#deps
    const rules = { longestStepMs: this.#longestStepMs(), config: site.tripDefaults }
    const used = await this.#ofEach(carts, days, (cart) =>
      store.readers.run('utilisation', { ...this.#watched(cart), days, ...rules }, asker),
    )
    const rounds = await this.#roundsOf(carts, days, asker)
    return used.map((day) => ({ ...day, rounds: rounds.get(day.cart)?.get(day.date) ?? 0 }))
  }

  /** Returns the voltages of each cart on the days of a month. Throws `too_many_positions`. */
  packs(
    carts: readonly Cart[],
    month: string,
    asker: JobOptions,
  ): Promise<(BatteryDay & { cart: string; date: string })[]> {
    const { store, site } = this.#deps
    const { restAfterS } = site.settings
    const rules = { restAfterS, movingKmh: site.tripDefaults.speedThreshold }
    const days = this.#daysOf(month).map((day) => ({
      ...day,
      noonMs: site.timeZone.instantOf(day.date, NOON_MINUTE),
    }))
    return this.#ofEach(carts, days, (cart) =>
      store.readers.run('packDays', { devices: devicesOf(cart), days, rules }, asker),
    )
  }

  /** Returns the areas in which carts spent their time while out. Throws `too_many_positions`. */
  async traffic(carts: readonly Cart[], range: TimeRange, asker: JobOptions): Promise<TrafficGrid> {
    const grid = new TrafficGrid(CELLS_MAX)
    const query = {
      days: this.#stretchesOf(range),
      longestStepMs: this.#longestStepMs(),
      cellsMax: CELLS_MAX,
    }
    const chunks = Array.from({ length: Math.ceil(carts.length / CARTS_A_JOB) }, (_, i) =>
      carts.slice(i * CARTS_A_JOB, (i + 1) * CARTS_A_JOB),
    )
    await inParallel(chunks, JOBS_IN_FLIGHT, async (chunk) => {
      const watched = chunk.map((cart) => this.#watched(cart))
      grid.addAll(await this.#deps.store.readers.run('traffic', { ...query, carts: watched }, asker))
    })
    return grid
  }

  /** Returns the signal losses of carts while out, the longest first. Throws `too_many_positions`. */
  async silences(carts: readonly Cart[], range: TimeRange, asker: JobOptions): Promise<SignalLoss[]> {
    const query = { days: this.#stretchesOf(range), longestStepMs: this.#longestStepMs() }
    const found = await this.#ofEach(carts, query.days, (cart) =>
      this.#deps.store.readers.run('silences', { ...query, cart: this.#watched(cart) }, asker),
    )
    return found.sort((a, b) => b.untilMs - b.fromMs - (a.untilMs - a.fromMs))
  }

  /** Returns the range from the first instant of a month, or of a date, to its last millisecond. */
  rangeOf(period: string): TimeRange {
    const { timeZone } = this.#deps.site
    const dates = datesOf(period)
    return {
      fromMs: timeZone.day(dates[0] ?? period).fromMs,
      toMs: timeZone.day(dates.at(-1) ?? period).untilMs - 1,
    }
  }

  /** Counts the rounds that began on each of the days, by cart and date. */
  async #roundsOf(
    carts: readonly Cart[],
    days: readonly ReportDay[],
    asker: JobOptions,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const counts = new Map<string, Map<string, number>>()
    const { fromMs } = days[0] ?? { fromMs: 0 }
    const toMs = (days.at(-1)?.untilMs ?? 0) - 1
    if (toMs < fromMs) return counts
    const all = { order: 'asc' as const, offset: 0, limit: Number.MAX_SAFE_INTEGER }
    for (const { cart, round } of await this.#deps.rounds.find(carts, { fromMs, toMs, ...all, asker })) {
      const { date } = this.#deps.site.timeZone.local(round.startedMs)
      const ofCart = counts.get(cart) ?? new Map<string, number>()
      counts.set(cart, ofCart.set(date, (ofCart.get(date) ?? 0) + 1))
    }
    return counts
  }

  /** Returns the result for each cart, in their order. */
  async #ofEach<Found extends object>(
    carts: readonly Cart[],
    days: readonly unknown[],
    find: (cart: Cart) => Promise<Found[]>,
  ): Promise<(Found & { cart: string })[]> {
    if (days.length === 0) return []
    const found = await inParallel(carts, JOBS_IN_FLIGHT, async (cart) =>
      (await find(cart)).map((one) => ({ ...one, cart: cart.key })),
    )
    return found.flat()
  }

  #watched(cart: Cart): { devices: CartDevices; parking: readonly Zone[] } {
    return { devices: devicesOf(cart), parking: this.#parkingOf(cart) }
  }

  /** Returns the enabled parking zones that count for a cart, without duplicates. */
  #parkingOf({ devices }: Cart): readonly Zone[] {
    const byId = new Map<string, Zone>()
    for (const { row } of devices) {
      const set = this.#deps.geofences.watchedOf(row.groupId)
      for (const { id } of set?.watched.zones ?? []) {
        const zone = set?.zoneOf(id)
        if (zone?.type === 'parking') byId.set(id, zone)
      }
    }
    return [...byId.values()]
  }

  /** Returns the longest gap between positions after which the position of a cart is unknown. */
  #longestStepMs(): number {
    return this.#deps.site.settings.silentOnCourseAfterS * 1000
  }

  /** Returns the local days of a period that have begun, the present one up to now. */
  #daysOf(period: string): ReportDay[] {
    const { site, clock } = this.#deps
    const endMs = clock.nowMs() + 1
    return datesOf(period).flatMap((date) => {
      const { fromMs, untilMs } = site.timeZone.day(date)
      return fromMs < endMs ? [{ date, fromMs, untilMs: Math.min(untilMs, endMs) }] : []
    })
  }

  /** Divides the range up to now into stretches that can be read. */
  #stretchesOf({ fromMs, toMs }: TimeRange): ReportDay[] {
    const endMs = Math.min(toMs, this.#deps.clock.nowMs()) + 1
    const stretches: ReportDay[] = []
    for (let atMs = fromMs; atMs < endMs; atMs += DAY_MS)
      stretches.push({
        date: new Date(atMs).toISOString(),
        fromMs: atMs,
        untilMs: Math.min(endMs, atMs + DAY_MS),
      })
    return stretches
  }
}

/** Returns the ids of the cart's devices, with those that have its lock separate. */
function devicesOf({ devices }: Cart): CartDevices {
  const ids = (isWanted: (deviceType: string) => boolean) =>
    devices.filter(({ row }) => isWanted(row.deviceType)).map(({ row }) => row.deviceId)
  return { locks: ids((type) => type === LOCK_TYPE), others: ids((type) => type !== LOCK_TYPE) }
}
