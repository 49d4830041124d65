import {
  advanceMotion,
  type CartMotion,
  type CartSample,
  endedAt,
  type MotionSettings,
  NO_MOTION,
} from '#shared/carts/motion.ts'
import { fromMilli } from '#shared/geo.ts'
import { isNewer } from '#shared/time.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'

/** Event time for which one of dense samples is evaluated; a map does not show more, and no cart is faster. */
const EVALUATION_STEP_MS = 1000
/** Numbers of a pending fix: time, lat, long, speed; and of a pending voltage: time, millivolts. */
const FIX = 4
const VOLTAGE = 2

/**
 * Motion derived from the samples of one device, in order. Dense samples cost almost nothing: they stay pending until a
 * second of event time has passed or a caller needs the motion, and only the last two fixes and voltages are used.
 */
export class MotionTrack {
  #motion: CartMotion
  /** Event time of the newest evaluated sample. */
  #evaluatedMs = Number.NEGATIVE_INFINITY
  /** Event time of the newest pending sample, if any. */
  #waitingMs = Number.NEGATIVE_INFINITY
  /** Last two pending fixes, older first; NaN for none. */
  readonly #fixes = new Float64Array(2 * FIX).fill(Number.NaN)
  readonly #voltages = new Float64Array(2 * VOLTAGE).fill(Number.NaN)
  #hasWaiting = false
  /** Dense samples as received, if their last two are the only pending ones; not copied, because most are replaced. */
  #dense: Float64Array | null = null
  /** Event time of the device's first fix; null if it was before this track. */
  firstFixMs: number | null = null

  constructor(motion = NO_MOTION) {
    this.#motion = motion
  }

  /** Motion without the pending samples. */
  get motion(): CartMotion {
    return this.#motion
  }

  set motion(motion: CartMotion) {
    this.#motion = motion
  }

  /** True if this is the current motion and no sample is pending. */
  isAt(motion: CartMotion): boolean {
    return this.#motion === motion && this.#dense === null && !this.#hasWaiting
  }

  /**
   * Takes samples in the columns of `AppendBatch.samples`, by time; `isInOrder` is true if each is later than the one
   * before. A known time after `latestMs` was a clock error.
   */
  take(numbers: Float64Array, isInOrder: boolean, settings: MotionSettings, latestMs: number): void {
    if (isInOrder && this.#evaluatedMs <= latestMs && this.#isDense(numbers)) {
      if (this.#hasWaiting) this.#forgetWaiting()
      this.#dense = numbers
      this.#waitingMs = numbers[numbers.length - SAMPLE_NUMBERS + 1] ?? 0
      return
    }
    if (this.#dense !== null) this.#keepDense(latestMs)
    for (let at = 0; at < numbers.length; at += SAMPLE_NUMBERS) {
      if (this.#isDue(latestMs)) this.evaluate(settings, latestMs)
      this.#keep(numbers, at, latestMs)
    }
  }

  /** Evaluates the pending samples and returns the motion. */
  evaluate(settings: MotionSettings, latestMs: number): CartMotion {
    if (this.#dense !== null) this.#keepDense(latestMs)
    if (!this.#hasWaiting) return this.#motion
    let [fixAt, voltageAt] = [firstOf(this.#fixes, FIX), firstOf(this.#voltages, VOLTAGE)]
    while (fixAt < this.#fixes.length || voltageAt < this.#voltages.length) {
      const fixMs = this.#fixes[fixAt] ?? Number.POSITIVE_INFINITY
      const voltageMs = this.#voltages[voltageAt] ?? Number.POSITIVE_INFINITY
      // a fix and a voltage of the same time are one sample
      const sample: CartSample = {
        atMs: Math.min(fixMs, voltageMs),
        position: fixMs <= voltageMs ? this.#positionAt(fixAt) : null,
        voltageV: voltageMs <= fixMs ? fromMilli(this.#voltages[voltageAt + 1] ?? 0) : null,
      }
      this.#motion = advanceMotion(this.#motion, sample, settings, latestMs)
      this.#evaluatedMs = sample.atMs
      if (fixMs <= voltageMs) fixAt += FIX
      if (voltageMs <= fixMs) voltageAt += VOLTAGE
    }
    this.#forgetWaiting()
    return this.#motion
  }

  /** Limits all known times to `atMs`. */
  endAt(atMs: number): void {
    if (this.#dense !== null) this.#keepDense(Number.POSITIVE_INFINITY)
    this.#motion = endedAt(this.#motion, atMs)
    this.#evaluatedMs = Math.min(this.#evaluatedMs, atMs)
    for (const at of [0, FIX]) this.#fixes[at] = Math.min(this.#fixes[at] ?? Number.NaN, atMs)
    for (const at of [0, VOLTAGE]) this.#voltages[at] = Math.min(this.#voltages[at] ?? Number.NaN, atMs)
    this.#waitingMs = Math.min(this.#waitingMs, atMs)
  }

  /** Drops its positions or voltages after their deletion. */
  forget({ gps, battery }: { gps: boolean; battery: boolean }): void {
    if (this.#dense !== null) this.#keepDense(Number.POSITIVE_INFINITY)
    if (gps) {
      this.#fixes.fill(Number.NaN)
      this.firstFixMs = null
      this.#motion = { ...this.#motion, fix: null, headingFrom: null, heading: null, still: null }
    }
    if (!battery) return
    this.#voltages.fill(Number.NaN)
    this.#motion = { ...this.#motion, battery: null, rest: null, lowReadings: 0 }
  }

  /** True if the pending samples must be evaluated before others join them. */
  #isDue(latestMs: number): boolean {
    return (
      this.#hasWaiting && (this.#waitingMs - this.#evaluatedMs >= EVALUATION_STEP_MS || this.#evaluatedMs > latestMs)
    )
  }

  /** True if no evaluation is due and only the last two samples can matter, which both have a fix and a voltage. */
  #isDense(numbers: Float64Array): boolean {
    const lastAt = numbers.length - SAMPLE_NUMBERS
    const at = lastAt - SAMPLE_NUMBERS
    if (at < 0 || (numbers[lastAt + 1] ?? 0) - this.#evaluatedMs >= EVALUATION_STEP_MS) return false
    const isLater = (!this.#hasWaiting && this.#dense === null) || (numbers[1] ?? 0) > this.#waitingMs
    return isLater && isBoth(numbers, at) && isBoth(numbers, lastAt)
  }

  #keepDense(latestMs: number): void {
    const numbers = this.#dense
    this.#dense = null
    if (numbers === null) return
    const at = numbers.length - 2 * SAMPLE_NUMBERS
    this.#keep(numbers, at, latestMs)
    this.#keep(numbers, at + SAMPLE_NUMBERS, latestMs)
  }

  #keep(numbers: Float64Array, at: number, latestMs: number): void {
    const atMs = numbers[at + 1] ?? 0
    this.#waitingMs = this.#hasWaiting ? Math.max(this.#waitingMs, atMs) : atMs
    this.#keepFix(numbers, at, atMs, latestMs)
    this.#keepVoltage(numbers, at, atMs, latestMs)
  }

  #keepFix(numbers: Float64Array, at: number, atMs: number, latestMs: number): void {
    const latE7 = numbers[at + 2] ?? Number.NaN
    if (Number.isNaN(latE7)) return
    const fixes = this.#fixes
    const waitingMs = fixes[FIX] ?? Number.NaN
    const knownMs = Number.isNaN(waitingMs) ? (this.#motion.fix?.atMs ?? Number.NEGATIVE_INFINITY) : waitingMs
    if (!isNewer(atMs, knownMs, latestMs)) return
    if (knownMs === Number.NEGATIVE_INFINITY) this.firstFixMs = atMs
    // element by element: faster for so few than any typed array function
    for (let i = 0; i < FIX; i++) fixes[i] = fixes[FIX + i] ?? Number.NaN
    if (waitingMs > latestMs) fixes[0] = Number.NaN
    fixes[FIX] = atMs
    fixes[FIX + 1] = latE7
    fixes[FIX + 2] = numbers[at + 3] ?? 0
    fixes[FIX + 3] = numbers[at + 4] ?? Number.NaN
    this.#hasWaiting = true
  }

  #keepVoltage(numbers: Float64Array, at: number, atMs: number, latestMs: number): void {
    const millivolts = numbers[at + 5] ?? Number.NaN
    if (Number.isNaN(millivolts)) return
    const voltages = this.#voltages
    const waitingMs = voltages[VOLTAGE] ?? Number.NaN
    const knownMs = Number.isNaN(waitingMs) ? (this.#motion.battery?.atMs ?? Number.NEGATIVE_INFINITY) : waitingMs
    if (!isNewer(atMs, knownMs, latestMs)) return
    for (let i = 0; i < VOLTAGE; i++) voltages[i] = voltages[VOLTAGE + i] ?? Number.NaN
    if (waitingMs > latestMs) voltages[0] = Number.NaN
    voltages[VOLTAGE] = atMs
    voltages[VOLTAGE + 1] = millivolts
    this.#hasWaiting = true
  }

  #positionAt(at: number): CartSample['position'] {
    const speed = this.#fixes[at + 3] ?? Number.NaN
    return {
      latE7: this.#fixes[at + 1] ?? 0,
      longE7: this.#fixes[at + 2] ?? 0,
      speedKmh: Number.isNaN(speed) ? null : fromMilli(speed),
    }
  }

  #forgetWaiting(): void {
    // only the time marks an entry as present
    for (const at of [0, FIX]) this.#fixes[at] = Number.NaN
    for (const at of [0, VOLTAGE]) this.#voltages[at] = Number.NaN
    this.#hasWaiting = false
  }
}

function isBoth(numbers: Float64Array, at: number): boolean {
  return !Number.isNaN(numbers[at + 2]) && !Number.isNaN(numbers[at + 5])
}

/** Returns the offset of the first of two pending entries; the end of the array if both are missing. */
function firstOf(waiting: Float64Array, size: number): number {
  if (!Number.isNaN(waiting[0])) return 0
  return Number.isNaN(waiting[size]) ? waiting.length : size
}
