import { setImmediate } from 'node:timers/promises'
import type { Sql } from '#hub/store/database/database.ts'
import { pendingTelemetry, readTelemetry } from '#hub/store/telemetry/reader.ts'
import { InvalidRequestError, UnavailableError } from '#shared/errors.ts'
import { GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import { activeTrip, RECENT_SECONDS, recentActiveTrip } from '#shared/trips/active.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import {
  type FoundTripFeatures,
  findFeaturesIn,
  GEOJSON_END,
  GEOJSON_HEAD,
  LINE_END,
  LINE_HEAD,
  lineMiddle,
  linePageOf,
  type TripFeature,
  timesText,
} from '#shared/trips/features.ts'
import { type FoundTrips, findTripsIn, withReason } from '#shared/trips/found.ts'
import { toActiveTripJson } from '#shared/trips/json.ts'
import { type Track, trackOf } from '#shared/trips/track.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { ActiveTripJson } from '#shared/wire/trips.ts'

/** Limits that protect the memory of a hub; the same as at a gateway. */
export interface TripLimits {
  /** Limit for one device. */
  readonly positions: number
  /** Trips and stops, of one device and of all devices of a request. */
  readonly foundOfDevice: number
  readonly found: number
}

const LIMITS: TripLimits = { positions: 4_000_000, foundOfDevice: 100_000, found: 250_000 }

/** Records per query: other requests wait a few milliseconds for each. */
const PAGE_ROWS = 50_000
/** Number of requests that hold a track in memory at the same time; others wait. */
const TRACKS_AT_ONCE = 2

/** Points of a map: for a device's trips, written while the others are evaluated, and for a page of the rest. */
const FIXES_AT_ONCE = 5_000
const FIXES_OF_PAGE = 10_000

const encoder = new TextEncoder()

interface TripDevice {
  readonly siteId: string
  readonly hardwareId: string
}

interface DeviceFeatures extends FoundTripFeatures {
  readonly device: TripDevice
}

interface Range {
  readonly fromMs: number
  readonly toMs: number
}

interface TripSearch {
  readonly range: Range
  readonly config: TripConfig
  readonly signal: AbortSignal
}

export interface ActiveTripSearch {
  readonly config: TripConfig
  readonly maxAgeSeconds: number
  readonly lookbackSeconds: number
  readonly nowMs: number
}

/** Finds trips in the stored telemetry, on demand, one device at a time. */
export class SiteTrips {
  readonly #sql: Sql
  readonly #limits: TripLimits
  readonly #waiting: (() => void)[] = []
  #busy = 0

  constructor(sql: Sql, limits: TripLimits = LIMITS) {
    this.#sql = sql
    this.#limits = limits
  }

  /** Trips and stops of each device, in the order of `devices`. Throws `too_many_positions` and `too_many_trips`. */
  async find(
    devices: readonly TripDevice[],
    { range, config, order, signal }: TripSearch & { order: ListOrder },
  ): Promise<FoundTrips[]> {
    const all: FoundTrips[] = []
    let left = this.#limits.found
    for (const device of devices) {
      const { hardwareId } = device
      const found = await this.#withTrack(device, range, signal, (track) =>
        findTripsIn(track, { hardwareId, config, order, foundMax: this.#limits.foundOfDevice }),
      )
      left -= found.sums.trips + found.sums.stops
      if (left < 0) {
        const most = `the devices have more than ${this.#limits.found} trips and stops between from and to`
        throw new InvalidRequestError('too_many_trips', `${most}: choose fewer devices or a shorter range`)
      }
      all.push(found)
    }
    return all
  }

  /**
   * Returns the trips and stops as one GeoJSON text, in the format of the gateway. All devices are evaluated before the
   * text begins. Throws like `find`.
   */
  async features(
    devices: readonly TripDevice[],
    { range, config, signal }: TripSearch,
  ): Promise<AsyncIterable<Uint8Array>> {
    const found: DeviceFeatures[] = []
    for (const device of devices) {
      const rules = {
        hardwareId: device.hardwareId,
        config,
        foundMax: this.#limits.foundOfDevice,
        fixesAtOnce: FIXES_AT_ONCE,
      }
      const features = await this.#withTrack(device, range, signal, (track) => findFeaturesIn(track, rules))
      found.push({ device, ...features })
    }
    return this.#featureTexts(found, signal)
  }

  async *#featureTexts(found: readonly DeviceFeatures[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield encoder.encode(GEOJSON_HEAD)
    let separator = ''
    for (const { device, trips, longTrips, stops } of found) {
      const pieces = [trips, ...longTrips, stops].filter((one) => !('length' in one) || one.length > 0)
      for (const piece of pieces) {
        yield encoder.encode(separator)
        if ('length' in piece) yield piece
        else yield* this.#lineTexts(device, piece, signal)
        separator = ','
      }
    }
    yield encoder.encode(GEOJSON_END)
  }

  /** The times of a line follow all its coordinates, so they are kept until then: as numbers, not as text. */
  async *#lineTexts(
    device: TripDevice,
    { startMs, endMs, properties, spikesMs }: TripFeature,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    yield encoder.encode(LINE_HEAD)
    const times: Float64Array[] = []
    const pending = await pendingTelemetry(this.#sql, GPS, device, { fromMs: startMs, toMs: endMs })
    for (let fromMs = startMs; fromMs <= endMs; ) {
      if (signal.aborted) throw new UnavailableError('the client closed the connection')
      const range = { fromMs, toMs: endMs, limit: FIXES_OF_PAGE }
      const records = await readTelemetry(this.#sql, GPS, device, range, pending)
      const { coordinates, atMs } = linePageOf(records, spikesMs)
      if (atMs.length > 0) {
        yield encoder.encode(times.length === 0 ? '' : ',')
        yield coordinates
        times.push(atMs)
      }
      if (records.atMs.length < FIXES_OF_PAGE) break
      fromMs = (records.atMs.at(-1) ?? endMs) + 1
    }
    yield encoder.encode(lineMiddle(properties))
    for (const [i, atMs] of times.entries()) {
      yield encoder.encode(i === 0 ? '' : ',')
      yield timesText(atMs)
    }
    yield encoder.encode(LINE_END)
  }

  /** Returns the active trips of the devices that have one, in their order. Throws like `find`. */
  async active(
    devices: readonly TripDevice[],
    search: ActiveTripSearch,
    signal: AbortSignal,
  ): Promise<ActiveTripJson[]> {
    const { config, maxAgeSeconds, lookbackSeconds, nowMs } = search
    const all: ActiveTripJson[] = []
    for (const device of devices) {
      const { hardwareId } = device
      const newest = {
        fromMs: Math.ceil(nowMs - maxAgeSeconds * 1000),
        toMs: nowMs,
        order: 'desc' as const,
        limit: 1,
      }
      const { atMs } = await readTelemetry(this.#sql, GPS, device, newest)
      if (atMs.length === 0) continue
      const query = { nowMs, maxAgeSeconds, foundMax: this.#limits.foundOfDevice }
      const trackFrom = <Result>(fromMs: number, work: (track: Track) => Result): Promise<Result> => {
        const range = { fromMs: Math.ceil(fromMs), toMs: nowMs }
        return this.#withTrack(device, range, signal, (track) => withReason(hardwareId, () => work(track)))
      }
      const fromMs = Math.max(0, nowMs - lookbackSeconds * 1000)
      const recentFromMs = (atMs[0] ?? nowMs) - RECENT_SECONDS * 1000
      const recent =
        recentFromMs > fromMs
          ? await trackFrom(recentFromMs, (track) => recentActiveTrip(track, config, query))
          : undefined
      const whole = () => trackFrom(fromMs, (track) => activeTrip(track, config, query))
      const active = recent === undefined ? await whole() : recent.active
      if (active !== undefined) all.push(toActiveTripJson(hardwareId, active))
    }
    return all
  }

  /** Reads the track of a device once a slot is free; `work` must not keep a reference to it. */
  async #withTrack<Result>(
    device: TripDevice,
    range: Range,
    signal: AbortSignal,
    work: (track: Track) => Result,
  ): Promise<Result> {
    if (this.#busy >= TRACKS_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#busy++
    try {
      const track = await this.#readTrack(device, range, signal)
      return work(track)
    } finally {
      await setImmediate()
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy--
      else next()
    }
  }

  async #readTrack(device: TripDevice, { fromMs, toMs }: Range, signal: AbortSignal): Promise<Track> {
    let columns: GpsRecords = GPS.allocate(0)
    let count = 0
    const pending = await pendingTelemetry(this.#sql, GPS, device, { fromMs, toMs })
    for (let nextMs = fromMs; nextMs <= toMs; ) {
      // the client has closed the connection: further reads would be wasted
      if (signal.aborted) throw new UnavailableError('the client closed the connection')
      const range = { fromMs: nextMs, toMs, limit: PAGE_ROWS }
      const page = await readTelemetry(this.#sql, GPS, device, range, pending)
      const { length } = page.atMs
      if (count + length > this.#limits.positions) {
        const detail =
          `${device.hardwareId} has more than ${this.#limits.positions} positions between from and to: choose a ` +
          'shorter range'
        throw new InvalidRequestError('too_many_positions', detail)
      }
      columns = withRoom(columns, count, length)
      for (const [i, column] of GPS.columnsOf(page).entries()) GPS.columnsOf(columns)[i]?.set(column, count)
      columns.atMs.set(page.atMs, count)
      count += length
      if (length < PAGE_ROWS) break
      nextMs = (page.atMs.at(-1) ?? toMs) + 1
    }
    return trackOf(columns, count)
  }
}

/** Returns the same records with room for more; grows by half, so that a long track is copied only a few times. */
function withRoom(records: GpsRecords, count: number, more: number): GpsRecords {
  if (count + more <= records.atMs.length) return records
  const grown = GPS.allocate(Math.max(count + more, Math.ceil(count * 1.5)))
  grown.atMs.set(records.atMs.subarray(0, count))
  for (const [i, column] of GPS.columnsOf(records).entries()) GPS.columnsOf(grown)[i]?.set(column.subarray(0, count))
  return grown
}
