import type { Slots } from '#shared/budgets/slots.ts'
import { InvalidRequestError, RateLimitedError } from '#shared/errors.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { TimeRange } from '#store/telemetry/reader.ts'
import type { TrackColumnsQuery } from '#store/tracks/track-columns.ts'
import type { Device } from './fleet.ts'

interface TracksDeps {
  store: Pick<Store, 'readers'>
  /** Limit of concurrent downloads of each user, over all its sessions. */
  downloads: Slots
  limits?: TrackLimits
}

/** Limit of positions of one response, which is in memory as a whole: 20 bytes each as text. */
export interface TrackLimits {
  cart: number
  replay: number
}

/** Device, and the fields that its text contains in addition to its columns. */
export interface TrackedDevice {
  device: Device
  label: Record<string, string>
}

/** Requester of tracks; `userId` is the user whose downloads are counted. */
interface TrackAsker extends JobOptions {
  userId: string
}

const LIMITS: TrackLimits = { cart: 250_000, replay: 500_000 }
/** Age from which a position no longer shows where a cart is. */
const LOOKBACK_MS = 24 * HOUR_MS
const STEP_MS = 5_000
/** Devices per job, few enough to keep each job short. */
const DEVICES_A_JOB = 16
const RETRY_S = 10

/** Tracks of a cart's day and of the whole course, as columns; read in the reader threads between other jobs. */
export class Tracks {
  readonly #deps: TracksDeps
  readonly #limits: TrackLimits

  constructor(deps: TracksDeps) {
    this.#deps = deps
    this.#limits = deps.limits ?? LIMITS
  }

  /** Returns all records of a few devices, each as a JSON text. Throws `too_many_positions`, `too_many_downloads`. */
  whole(devices: readonly TrackedDevice[], range: TimeRange, asker: TrackAsker): Promise<readonly Uint8Array[]> {
    return this.#read(devices, { ...range, replay: null }, this.#limits.cart, asker)
  }

  /** Returns simplified tracks of many devices for a replay. Throws as `whole` does. */
  replay(
    devices: readonly TrackedDevice[],
    range: TimeRange,
    movingKmh: number,
    asker: TrackAsker,
  ): Promise<readonly Uint8Array[]> {
    const replay = {
      stepMs: STEP_MS,
      standingMs: MINUTE_MS,
      movingMilliKmh: movingKmh * 1000,
      lookbackMs: LOOKBACK_MS,
    }
    return this.#read(devices, { ...range, replay }, this.#limits.replay, asker)
  }

  async #read(
    devices: readonly TrackedDevice[],
    query: Omit<TrackColumnsQuery, 'devices' | 'positionsMax'>,
    positionsMax: number,
    { userId, ...asker }: TrackAsker,
  ): Promise<readonly Uint8Array[]> {
    const { downloads, store } = this.#deps
    if (!downloads.take(userId)) {
      const message = 'too many downloads in progress; wait until one ends'
      throw new RateLimitedError(message, RETRY_S, 'too_many_downloads')
    }
    try {
      const texts: Uint8Array[] = []
      let left = positionsMax
      // one job after the other: no user occupies more than one thread at a time
      for (let at = 0; at < devices.length; at += DEVICES_A_JOB) {
        const chunk = devices
          .slice(at, at + DEVICES_A_JOB)
          .map(({ device, label }) => ({ deviceId: device.row.deviceId, label }))
        const input = { ...query, devices: chunk, positionsMax: left }
        const found = await store.readers.run('trackColumns', input, { ...asker, isPartOfLongRead: at > 0 })
        if (found.isTooMuch) throw tooMuch(positionsMax)
        left -= found.positions
        if (found.text.length > 0) texts.push(found.text)
      }
      return texts
    } finally {
      downloads.release(userId)
    }
  }
}

function tooMuch(most: number): InvalidRequestError {
  const detail = `there are more than ${most} positions between from and to: choose a shorter range`
  return new InvalidRequestError('too_many_positions', detail)
}
