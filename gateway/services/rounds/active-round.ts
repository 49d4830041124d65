import { LOCK_TYPE } from '#shared/carts/cart-state.ts'
import { RoundFinder } from '#shared/rounds/finder.ts'
import type { Round } from '#shared/rounds/round.ts'
import { HOUR_MS } from '#shared/time.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { KnownRounds, StoredRoundDevice } from '#store/tracks/rounds.ts'
import type { Device } from '../fleet.ts'
import type { CountedZones } from './round-zones.ts'

interface Arrived {
  device: StoredRoundDevice
  atMs: number
  latE7: number
  longE7: number
}

/** Limit of fixes that arrive while the history of a cart is read; beyond it the history is read again. */
const WAITING_MAX = 2000
/** Time for which a round that is over counts for the pace of others; earlier ones are read from the history. */
export const ENDED_KEPT_MS = 6 * HOUR_MS

/**
 * Round in progress of one cart, updated with each fix of its devices. `isDue` requests that it be found again in the
 * stored history: at first, if there is any, and after data arrived out of order; until then the last result remains.
 */
export class ActiveRound {
  readonly devices: readonly StoredRoundDevice[]
  readonly counted: CountedZones
  isDue: boolean
  #finder: RoundFinder
  #ended: readonly Round[] = []
  #newestMs = new Map<string, number>()
  /** Fixes that arrived while the history is read; null otherwise. */
  #waiting: Arrived[] | null = null

  constructor(devices: readonly Device[], counted: CountedZones) {
    this.devices = devices.map(toRoundDevice)
    this.counted = counted
    this.isDue = devices.some(({ reported }) => reported.gps !== null)
    this.#finder = new RoundFinder(counted.roundZones)
  }

  /** True if it was made for these devices and zones. */
  isOf(devices: readonly Device[], counted: CountedZones): boolean {
    return (
      counted === this.counted &&
      devices.length === this.devices.length &&
      devices.every(({ row }, i) => {
        const known = this.devices[i]
        return known?.deviceId === row.deviceId && known.isLock === (row.deviceType === LOCK_TYPE)
      })
    )
  }

  /** Returns the round in progress at `nowMs`; null if none. */
  runningAt(nowMs: number): Round | null {
    const round = this.#finder.roundAt(nowMs)
    return round === null || round.endedMs !== null ? null : round
  }

  /** Returns the rounds that have ended in the last `ENDED_KEPT_MS`. */
  endedBy(nowMs: number): readonly Round[] {
    this.#ended = recent(this.#ended, nowMs)
    const last = this.#finder.roundAt(nowMs)
    // it may still be driving through parking
    return last?.endedMs == null ? this.#ended : [...this.#ended, last]
  }

  /** Adds samples of a device, sorted by time and in the columns of `AppendBatch.samples`. */
  take(deviceId: number, numbers: Float64Array, latestMs: number): void {
    const device = this.devices.find((one) => one.deviceId === deviceId)
    if (device === undefined) return
    for (let at = 0; at < numbers.length; at += SAMPLE_NUMBERS) {
      const latE7 = numbers[at + 2] ?? Number.NaN
      const longE7 = numbers[at + 3] ?? Number.NaN
      const atMs = numbers[at + 1] ?? 0
      const isFix = !Number.isNaN(latE7) && (latE7 !== 0 || longE7 !== 0)
      if (!isFix || atMs > latestMs) continue
      if (this.#waiting === null && this.#finder.isDense(atMs)) continue
      this.#takeFix({ device, atMs, latE7, longE7 }, latestMs)
    }
  }

  /** Called before its history is read. */
  beginReading(): void {
    this.isDue = false
    this.#waiting = []
  }

  /** Continues from the history and the fixes that arrived meanwhile. */
  goOn({ state, ended, newestMs }: KnownRounds): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    this.#ended = ended
    this.#finder = new RoundFinder(this.counted.roundZones, state)
    this.#newestMs = new Map(Object.entries(newestMs))
    for (const arrived of waiting) this.#feed(arrived)
  }

  /** Called if its history could not be read. */
  giveUp(): void {
    this.isDue = true
    this.#waiting = null
  }

  #takeFix(arrived: Arrived, latestMs: number): void {
    // the clock was wrong when the newest fix arrived
    if ((this.#newestMs.get(arrived.device.hardwareId) ?? 0) > latestMs) this.isDue = true
    if (this.#waiting === null) this.#feed(arrived)
    else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(arrived)
    else this.isDue = true
  }

  #feed({ device, atMs, latE7, longE7 }: Arrived): void {
    // an older fix is already included, or is reported as backfilled
    if (atMs <= (this.#newestMs.get(device.hardwareId) ?? 0)) return
    this.#newestMs.set(device.hardwareId, atMs)
    if (this.#finder.take(device, { atMs, latE7, longE7 }) === 'late') this.isDue = true
    const ended = this.#finder.takeEnded()
    // also where no caller asks for them
    if (ended.length > 0) this.#ended = recent([...this.#ended, ...ended], atMs)
  }
}

function recent(rounds: readonly Round[], nowMs: number): readonly Round[] {
  return rounds.filter(({ endedMs }) => (endedMs ?? 0) >= nowMs - ENDED_KEPT_MS)
}

export function toRoundDevice({ row }: Device): StoredRoundDevice {
  return { deviceId: row.deviceId, hardwareId: row.hardwareId, isLock: row.deviceType === LOCK_TYPE }
}
