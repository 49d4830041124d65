import { MOVING_WITHIN_MS } from '#shared/carts/cart-state.ts'
import { REST_RADIUS_M, SPEED_WITHIN_MS } from '#shared/carts/motion.ts'
import { type BatteryRecords, type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'
import { EarthDistance } from '#shared/trips/earth-distance.ts'

/** Settings that define rest and driving. */
export interface PackRules {
  restAfterS: number
  movingKmh: number
}

/** Battery values of one day, from its voltages; in thousandths of a volt, null if there was no such voltage. */
export interface BatteryDay {
  /** Before the first drive: the newest voltage at rest before noon, else the first. */
  restMorningMv: number | null
  /** Lowest voltage while driving. */
  lowestMv: number | null
}

const KMH_PER_M_PER_MS = 3600

/**
 * Tracks a cart's voltages and if it stood or drove, by the rules of `moveOn`. Days must come in chronological order.
 */
export class PackDays {
  readonly #rules: PackRules
  readonly #earth = new EarthDistance()
  #fixMs = Number.NEGATIVE_INFINITY
  #latE7 = 0
  #longE7 = 0
  #speedKmh = 0
  /** Position at which the cart stands, and since when; NaN before the first fix. */
  #stillMs = Number.NaN
  #stillLatE7 = 0
  #stillLongE7 = 0

  constructor(rules: PackRules) {
    this.#rules = rules
  }

  /** Sets the position from the fixes before the first day. */
  standsAfter(fixes: GpsRecords): void {
    const unasked = new Morning(0)
    for (let fix = 0; fix < fixes.atMs.length; fix++) this.#moveOn(fixes, fix, unasked)
  }

  /** Processes one day; `noonMs` is its middle. */
  take(fixes: GpsRecords, voltages: BatteryRecords, noonMs: number): BatteryDay {
    const morning = new Morning(noonMs)
    let lowestMv: number | null = null
    let fix = 0
    for (let i = 0; i < voltages.atMs.length; i++) {
      const atMs = voltages.atMs[i] ?? 0
      const voltageMv = voltages.voltageMv[i] ?? 0
      for (; fix < fixes.atMs.length && (fixes.atMs[fix] ?? 0) <= atMs; fix++) this.#moveOn(fixes, fix, morning)
      if (this.#drivesAt(atMs)) lowestMv = Math.min(lowestMv ?? voltageMv, voltageMv)
      if (atMs - this.#stillMs >= this.#rules.restAfterS * 1000) morning.rests(atMs, voltageMv)
    }
    for (; fix < fixes.atMs.length; fix++) this.#moveOn(fixes, fix, morning)
    return { restMorningMv: morning.restMv, lowestMv }
  }

  #moveOn({ atMs, latE7, longE7, speedMilliKmh }: GpsRecords, fix: number, morning: Morning): void {
    const [fixMs, lat, long] = [atMs[fix] ?? 0, latE7[fix] ?? 0, longE7[fix] ?? 0]
    const reported = speedMilliKmh[fix] ?? NO_SPEED
    this.#speedKmh = reported === NO_SPEED ? this.#speedTo(fixMs, lat, long) : reported / 1000
    this.#fixMs = fixMs
    this.#latE7 = lat
    this.#longE7 = long
    const drives = this.#speedKmh >= this.#rules.movingKmh
    if (drives) morning.drives()
    const isStill = !drives && this.#earth.metres(this.#stillLatE7, this.#stillLongE7, lat, long) <= REST_RADIUS_M
    if (isStill && !Number.isNaN(this.#stillMs)) return
    this.#stillMs = fixMs
    this.#stillLatE7 = lat
    this.#stillLongE7 = long
  }

  #speedTo(fixMs: number, lat: number, long: number): number {
    const tookMs = fixMs - this.#fixMs
    if (tookMs <= 0 || tookMs >= SPEED_WITHIN_MS) return 0
    return (this.#earth.metres(this.#latE7, this.#longE7, lat, long) / tookMs) * KMH_PER_M_PER_MS
  }

  #drivesAt(atMs: number): boolean {
    return this.#speedKmh >= this.#rules.movingKmh && atMs - this.#fixMs < MOVING_WITHIN_MS
  }
}

/** Voltage of a battery at the beginning of its day. */
class Morning {
  restMv: number | null = null
  readonly #noonMs: number
  #hasDriven = false

  constructor(noonMs: number) {
    this.#noonMs = noonMs
  }

  drives(): void {
    this.#hasDriven = true
  }

  rests(atMs: number, voltageMv: number): void {
    if (this.#hasDriven || (this.restMv !== null && atMs >= this.#noonMs)) return
    this.restMv = voltageMv
  }
}
