import { LOCK_TYPE } from '#shared/carts/cart-state.ts'
import { RoundFinder } from '#shared/rounds/finder.ts'
import type { Round } from '#shared/rounds/round.ts'
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

/** While the history of a cart is read, so many fixes may come; with more it is read again. */
const WAITING_MAX = 2000

/**
 * The running round of one cart, kept forward by what its devices send. `isDue` says that it is to be found anew from
 * what is stored: at first, if anything is, and when something came that should have come before; meanwhile the last
 * answer holds.
 */
export class ActiveRound {
  readonly devices: readonly StoredRoundDevice[]
  readonly counted: CountedZones
  isDue: boolean
  #finder: RoundFinder
  #newestMs = new Map<string, number>()
  /** What has come since the history is being read; null while it is not. */
  #waiting: Arrived[] | null = null

  constructor(devices: readonly Device[], counted: CountedZones) {
    this.devices = devices.map(toRoundDevice)
    this.counted = counted
    this.isDue = devices.some(({ reported }) => reported.gps !== null)
    this.#finder = new RoundFinder(counted.ground)
  }

  /** Whether it is that of a cart of these devices and zones. */
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

  /** The round that goes on, as it is at `nowMs`; null without one. */
  runningAt(nowMs: number): Round | null {
    const round = this.#finder.roundAt(nowMs)
    return round === null || round.endedMs !== null ? null : round
  }

  /** Takes samples of a device, by time and in the columns of `AppendBatch.samples`. */
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

  /** Its history is about to be read. */
  beginReading(): void {
    this.isDue = false
    this.#waiting = []
  }

  /** Goes on from what its history says, and from what has come meanwhile. */
  goOn({ state, newestMs }: KnownRounds): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    this.#finder = new RoundFinder(this.counted.ground, state)
    this.#newestMs = new Map(Object.entries(newestMs))
    for (const arrived of waiting) this.#feed(arrived)
  }

  /** Its history could not be read. */
  giveUp(): void {
    this.isDue = true
    this.#waiting = null
  }

  #takeFix(arrived: Arrived, latestMs: number): void {
    // a clock had been wrong when the newest came
    if ((this.#newestMs.get(arrived.device.hardwareId) ?? 0) > latestMs) this.isDue = true
    if (this.#waiting === null) this.#feed(arrived)
    else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(arrived)
    else this.isDue = true
  }

  #feed({ device, atMs, latE7, longE7 }: Arrived): void {
    // one that is older was there before, or is told of as backfilled
    if (atMs <= (this.#newestMs.get(device.hardwareId) ?? 0)) return
    this.#newestMs.set(device.hardwareId, atMs)
    if (this.#finder.take(device, { atMs, latE7, longE7 }) === 'late') this.isDue = true
    // whoever asks for rounds that are over reads them from the history
    this.#finder.takeEnded()
  }
}

/** A device as rounds know it. */
export function toRoundDevice({ row }: Device): StoredRoundDevice {
  return { deviceId: row.deviceId, hardwareId: row.hardwareId, isLock: row.deviceType === LOCK_TYPE }
}
