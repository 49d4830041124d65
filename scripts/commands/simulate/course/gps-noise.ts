import type { Random } from '#shared/random.ts'
import type { Point } from './plane.ts'

const DRIFT_M = 1.6
const DRIFT_S = 50
const JITTER_M = 0.25
/** Maximum error of a fix along either axis. */
export const WORST_ERROR_M = 8

/** Error of one GPS receiver: it drifts by a few metres within a minute, with a little jitter on each fix. */
export class GpsNoise {
  readonly #random: Random
  #drift: Point
  #atMs: number | undefined

  constructor(random: Random) {
    this.#random = random
    this.#drift = { xM: DRIFT_M * random.gaussian(), yM: DRIFT_M * random.gaussian() }
  }

  /** Returns the position reported by the receiver. Times must not decrease. */
  observe(truth: Point, atMs: number): Point {
    const elapsedS = this.#atMs === undefined ? 0 : Math.max(0, atMs - this.#atMs) / 1000
    this.#atMs = atMs
    const kept = Math.exp(-elapsedS / DRIFT_S)
    const fresh = DRIFT_M * Math.sqrt(1 - kept * kept)
    this.#drift = {
      xM: this.#drift.xM * kept + fresh * this.#random.gaussian(),
      yM: this.#drift.yM * kept + fresh * this.#random.gaussian(),
    }
    return {
      xM: truth.xM + bounded(this.#drift.xM + JITTER_M * this.#random.gaussian()),
      yM: truth.yM + bounded(this.#drift.yM + JITTER_M * this.#random.gaussian()),
    }
  }
}

function bounded(errorM: number): number {
  return Math.min(WORST_ERROR_M, Math.max(-WORST_ERROR_M, errorM))
}
