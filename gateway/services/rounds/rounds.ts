import type { Events } from '#gateway/events.ts'
import { describeError } from '#shared/errors.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { RoundFinder } from '#shared/rounds/finder.ts'
import type { CartRound } from '#shared/rounds/round.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { TimeRange } from '#store/telemetry/reader.ts'
import type { Cart } from '../cart.ts'
import type { Geofences } from '../zones/geofences.ts'
import { ActiveRound, ENDED_KEPT_MS, toRoundDevice } from './active-round.ts'
import { RoundZonesByGroup } from './round-zones.ts'

interface RoundsDeps {
  store: Pick<Store, 'readers'>
  events: Events
  clock: Clock & MonotonicClock & { latestEventMs(nowMs: number): number }
  geofences: Pick<Geofences, 'watchedOf'>
  log: Log
}

interface RoundSearch extends TimeRange {
  /** Order of the rounds; offset and limit count those of all carts together. */
  order: ListOrder
  offset: number
  limit: number
  asker: JobOptions
}

/** Reader jobs queued or running at a time: of one request, and of carts whose rounds are found again. */
const JOBS_IN_FLIGHT = 4
const READS_IN_FLIGHT = 2
/** Shortest interval between reads of the history of a cart that sends late batches. */
const READ_AGAIN_MS = 5000
const OWNER = 'rounds'

/**
 * Rounds of carts. Rounds in progress are updated with stored samples (`sampled`); after a start, and where data came
 * late, reader threads find them again, queued after all other reads. Past rounds are found on request: no round is
 * stored. All use a cart's current devices and zones; one without a parking zone has none, nor has another vehicle.
 */
export class Rounds implements Component {
  readonly #deps: RoundsDeps
  readonly #zonesByGroup: RoundZonesByGroup
  #kept = new Map<string, ActiveRound>()
  #byDevice = new Map<number, ActiveRound>()
  /** Time of the last read of a cart's history. */
  readonly #readMs = new WeakMap<ActiveRound, number>()
  readonly #reads = new Set<Promise<void>>()
  #isRunning = false

  constructor(deps: RoundsDeps) {
    this.#deps = deps
    this.#zonesByGroup = new RoundZonesByGroup(deps.geofences)
  }

  async start(): Promise<void> {
    const { events } = this.#deps
    this.#isRunning = true
    events.on('cartsEvaluated', ({ carts }) => this.#follow(carts))
    // uses the stored times, so that a round read again is the same
    events.on('sampled', ({ device, recorded }) =>
      this.#byDevice.get(device.row.deviceId)?.take(device.row.deviceId, recorded, this.#latestMs()),
    )
    for (const name of ['backfilled', 'historyChanged'] as const)
      events.on(name, ({ hardwareId }) => this.#requestSearch(hardwareId))
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await Promise.all(this.#reads)
  }

  async idle(): Promise<void> {
    while (this.#reads.size > 0) await Promise.all(this.#reads)
  }

  /** Returns rounds in progress that a caller may see: of `whole` by key, of `parts` from visible devices alone. */
  async running(whole: readonly string[], parts: readonly Cart[], asker: JobOptions): Promise<CartRound[]> {
    const nowMs = this.#deps.clock.nowMs()
    const found = whole.flatMap((cart) => {
      const round = this.#kept.get(cart)?.runningAt(nowMs) ?? null
      return round === null ? [] : [{ cart, round }]
    })
    const ofParts = await inParallel(parts, JOBS_IN_FLIGHT, async (cart) => {
      const { devices, zones, roundZones } = this.#zonesOf(cart)
      if (!roundZones.hasParking || cart.notes.kind !== 'golf_cart') return []
      const query = { devices, zones, latestMs: this.#latestMs() }
      const { state } = await this.#deps.store.readers.run('roundState', query, asker)
      const round = new RoundFinder(roundZones, state).roundAt(nowMs)
      return round === null || round.endedMs !== null ? [] : [{ cart: cart.key, round }]
    })
    return [...found, ...ofParts.flat()].sort(byStart)
  }

  /** Returns the rounds of all carts that are in progress or have ended in the last hours, by start. */
  recent(): CartRound[] {
    const nowMs = this.#deps.clock.nowMs()
    const found = [...this.#kept].flatMap(([cart, kept]) => {
      const running = kept.runningAt(nowMs)
      return [...kept.endedBy(nowMs), ...(running === null ? [] : [running])].map((round) => ({ cart, round }))
    })
    return found.sort(byStart)
  }

  /** Returns the numbers of all holes, ascending. */
  holes(): number[] {
    const zones = new Set([...this.#kept.values()].map(({ counted }) => counted.roundZones))
    return [...new Set([...zones].flatMap(({ holes }) => holes))].sort((a, b) => a - b)
  }

  /** Returns the rounds of these carts that began in a range, sorted by time. */
  async find(carts: readonly Cart[], { fromMs, toMs, order, offset, limit, asker }: RoundSearch): Promise<CartRound[]> {
    const nowMs = this.#deps.clock.nowMs()
    const range = {
      fromMs,
      toMs,
      nowMs,
      latestMs: this.#latestMs(),
      most: order === 'asc' ? offset + limit : Infinity,
    }
    const found = await inParallel(carts, JOBS_IN_FLIGHT, async (cart) => {
      const { devices, zones, roundZones } = this.#zonesOf(cart)
      if (!roundZones.hasParking || cart.notes.kind !== 'golf_cart') return []
      const rounds = await this.#deps.store.readers.run('rounds', { ...range, devices, zones }, asker)
      return rounds.map((round) => ({ cart: cart.key, round }))
    })
    const all = found.flat().sort(byStart)
    return (order === 'asc' ? all : all.reverse()).slice(offset, offset + limit)
  }

  #zonesOf({ devices }: Cart) {
    const { zones, roundZones } = this.#zonesByGroup.of(devices)
    return { devices: devices.map(toRoundDevice), zones, roundZones }
  }

  #latestMs(): number {
    const { clock } = this.#deps
    return clock.latestEventMs(clock.nowMs())
  }

  /** Adapts to the current carts. */
  #follow(carts: readonly Cart[]): void {
    let isOther = false
    const kept = new Map<string, ActiveRound>()
    for (const { key, devices, notes } of carts) {
      const counted = this.#zonesByGroup.of(devices)
      if (!counted.roundZones.hasParking || notes.kind !== 'golf_cart') continue
      const known = this.#kept.get(key)
      const isSame = known?.isOf(devices, counted) === true
      isOther ||= !isSame
      kept.set(key, isSame ? known : new ActiveRound(devices, counted))
    }
    if (isOther || kept.size !== this.#kept.size) {
      this.#kept = kept
      this.#byDevice = new Map(
        [...kept.values()].flatMap((one) => one.devices.map(({ deviceId }) => [deviceId, one] as const)),
      )
    }
    this.#readDue()
  }

  /** Requests a new search after data came late or was deleted. */
  #requestSearch(hardwareId: string): void {
    for (const one of this.#kept.values())
      if (one.devices.some((device) => device.hardwareId === hardwareId)) one.isDue = true
  }

  /** Starts to read the histories of carts whose rounds must be found again. */
  #readDue(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const one of this.#kept.values()) {
      if (!this.#isRunning || this.#reads.size >= READS_IN_FLIGHT) return
      const readMs = this.#readMs.get(one) ?? Number.NEGATIVE_INFINITY
      if (!one.isDue || nowMs - readMs < READ_AGAIN_MS) continue
      this.#readMs.set(one, nowMs)
      const read = this.#read(one).finally(() => {
        this.#reads.delete(read)
        this.#readDue()
      })
      this.#reads.add(read)
    }
  }

  async #read(one: ActiveRound): Promise<void> {
    const { store, log } = this.#deps
    one.beginReading()
    try {
      const endedFromMs = this.#deps.clock.nowMs() - ENDED_KEPT_MS
      const query = { devices: one.devices, zones: one.counted.zones, latestMs: this.#latestMs(), endedFromMs }
      one.goOn(await store.readers.run('roundState', query, { owner: OWNER, isPartOfLongRead: true }))
    } catch (error) {
      one.giveUp()
      if (this.#isRunning)
        log.warn({ reason: describeError(error) }, 'reading the history of a cart for its rounds failed; will retry')
    }
  }
}

function byStart(a: CartRound, b: CartRound): number {
  return a.round.startedMs - b.round.startedMs || (a.cart < b.cart ? -1 : a.cart > b.cart ? 1 : 0)
}
