import { InvalidRequestError } from '#shared/errors.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import { GEOJSON_END, GEOJSON_HEAD, LINE_END, LINE_HEAD, lineMiddle, type TripFeature } from '#shared/trips/features.ts'
import type { FoundTrips } from '#shared/trips/found.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { ActiveTripJson } from '#shared/wire/trips.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { TimeRange } from '#store/telemetry/reader.ts'
import type { TripTrackPage } from '#store/trips/line.ts'
import type { TripQuery } from '#store/trips/trips.ts'
import type { GatewayClock } from './clock/gateway-clock.ts'
import type { Device } from './fleet.ts'

interface TripsDeps {
  store: Pick<Store, 'readers'>
  clock: Pick<GatewayClock, 'nowMs' | 'isTrusted'>
  limits?: TripLimits
}

/** Limits that protect the memory of a reader thread, and of the gateway. */
export interface TripLimits {
  /** Limit of positions of one device. */
  positions: number
  /** Limits of trips and stops, of one device and of all devices of a request. */
  foundOfDevice: number
  found: number
  /** Points of a map written in one job: of all trips of a device, or of part of a longer trip. */
  fixesAtOnce: number
  fixesOfPage: number
}

/** Query for trips, and its requester. */
export interface TripSearch {
  range: TimeRange
  config: TripConfig
  /** Order of the trips and stops of each device in a list; a map is ascending. */
  order: ListOrder
  asker: JobOptions
}

export interface ActiveTripSearch {
  maxAgeSeconds: number
  lookbackSeconds: number
  config: TripConfig
  asker: JobOptions
}

/**
 * A point per second for 31 days makes 2.7 million positions of 20 bytes. If all are spikes, four million fill three
 * quarters of a reader thread's heap, and one without heap ends the process. A trip or stop takes about 300 bytes.
 */
const LIMITS: TripLimits = {
  positions: 4_000_000,
  foundOfDevice: 100_000,
  found: 250_000,
  fixesAtOnce: 50_000,
  fixesOfPage: 2000,
}
/** Reader jobs of one request, queued or running at a time. */
const JOBS_IN_FLIGHT = 4
/** Devices whose few latest records are read in one job. */
const DEVICES_A_JOB = 32

const encoder = new TextEncoder()

/** Finds trips in stored records, on request and in the reader threads; no trip is stored. */
export class Trips {
  readonly #readers: Store['readers']
  readonly #clock: TripsDeps['clock']
  readonly #limits: TripLimits

  constructor({ store, clock, limits = LIMITS }: TripsDeps) {
    this.#readers = store.readers
    this.#clock = clock
    this.#limits = limits
  }

  /** Returns the trips of each device, in their order. Throws `too_many_positions` and `too_many_trips`. */
  find(devices: readonly Device[], search: TripSearch): Promise<FoundTrips[]> {
    let left = this.#limits.found
    return inParallel(devices, JOBS_IN_FLIGHT, async (device) => {
      const found = await this.#readers.run('trips', this.#queryOf(device, search), search.asker)
      left -= found.sums.trips + found.sums.stops
      if (left >= 0) return found
      const most = `the devices have more than ${this.#limits.found} trips and stops between from and to`
      throw new InvalidRequestError('too_many_trips', `${most}: choose fewer devices or a shorter range`)
    })
  }

  /** Returns the active trips of the devices, in their order. Throws as `find` does. */
  async active(devices: readonly Device[], { asker, ...search }: ActiveTripSearch): Promise<ActiveTripJson[]> {
    const { positions: positionsMax, foundOfDevice: foundMax } = this.#limits
    const found = await inParallel(chunksOf(devices, DEVICES_A_JOB), JOBS_IN_FLIGHT, (chunk) => {
      const asked = chunk.map((device) => ({
        deviceId: device.row.deviceId,
        hardwareId: device.row.hardwareId,
        nowMs: this.#nowFor(device),
      }))
      const query = { ...search, devices: asked, positionsMax, foundMax }
      return this.#readers.run('activeTrips', query, { ...asker, isShort: true })
    })
    return found.flat()
  }

  /**
   * Returns the trips and stops as one GeoJSON text: a line for each trip, a point for each stop. Only one device, and
   * one page of a track, is in memory at a time. Throws `too_many_positions` before any text.
   */
  async features(devices: readonly Device[], search: TripSearch): Promise<AsyncIterable<Uint8Array>> {
    for (const chunk of chunksOf(devices, DEVICES_A_JOB)) {
      const tracks = chunk.map((device) => this.#trackOf(device, search.range))
      await this.#readers.run('tripRoom', tracks, search.asker)
    }
    return this.#featureTexts(devices, search)
  }

  async *#featureTexts(devices: readonly Device[], search: TripSearch): AsyncGenerator<Uint8Array> {
    const { asker } = search
    yield encoder.encode(GEOJSON_HEAD)
    let separator = ''
    for (const device of devices) {
      const query = { ...this.#queryOf(device, search), fixesAtOnce: this.#limits.fixesAtOnce }
      const { trips, longTrips, stops } = await this.#readers.run('tripFeatures', query, asker)
      if (trips.length > 0) {
        yield Buffer.concat([encoder.encode(separator), trips])
        separator = ','
      }
      for (const trip of longTrips) {
        yield* this.#lineTexts(separator, device.row.deviceId, trip, asker)
        separator = ','
      }
      if (stops.length > 0) {
        yield Buffer.concat([encoder.encode(separator), stops])
        separator = ','
      }
    }
    yield encoder.encode(GEOJSON_END)
  }

  /** Writes lines; the times of a line follow all its coordinates: they are kept until then as numbers, not text. */
  async *#lineTexts(
    separator: string,
    deviceId: number,
    { startMs, endMs, properties, spikesMs }: TripFeature,
    asker: JobOptions,
  ): AsyncGenerator<Uint8Array> {
    yield encoder.encode(separator + LINE_HEAD)
    const times: Float64Array[] = []
    for (let fromMs: number | null = startMs; fromMs !== null && fromMs <= endMs; ) {
      const query = { deviceId, fromMs, toMs: endMs, spikesMs, limit: this.#limits.fixesOfPage }
      const options = { ...asker, isPartOfLongRead: fromMs !== startMs }
      const page: TripTrackPage = await this.#readers.run('tripTrack', query, options)
      fromMs = page.nextMs
      const { coordinates, atMs } = page
      if (atMs.length === 0) continue
      yield Buffer.concat([encoder.encode(times.length === 0 ? '' : ','), coordinates])
      times.push(atMs)
    }
    yield encoder.encode(lineMiddle(properties))
    for (const [i, atMs] of times.entries()) {
      const text = await this.#readers.run('trackTimes', { atMs }, asker)
      yield Buffer.concat([encoder.encode(i === 0 ? '' : ','), text])
    }
    yield encoder.encode(LINE_END)
  }

  #trackOf({ row }: Device, { fromMs, toMs }: TimeRange) {
    const { deviceId, hardwareId } = row
    return { deviceId, hardwareId, fromMs, toMs, positionsMax: this.#limits.positions }
  }

  #queryOf(device: Device, { range, config, order }: TripSearch): TripQuery {
    return { ...this.#trackOf(device, range), config, order, foundMax: this.#limits.foundOfDevice }
  }

  /**
   * Returns the current time for a device. While the clock of the gateway is not trusted, it is the time of the
   * device's last report plus the time elapsed since, which is known even then.
   */
  #nowFor({ reported }: Device): number {
    const nowMs = this.#clock.nowMs()
    const newestMs = reported.gps?.atMs ?? 0
    if (this.#clock.isTrusted || newestMs <= nowMs) return nowMs
    return newestMs + Math.max(0, nowMs - (reported.lastRespondedAtMs ?? nowMs))
  }
}

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}
