import { BRAKING_MPS2, type Path, placeOn, segmentAt } from './path.ts'
import type { Point } from './plane.ts'

/** Maximum speed of a cart: 25 km/h. */
const TOP_SPEED_MPS = 25 / 3.6

const PULLING_MPS2 = 1
const HARD_BRAKING_MPS2 = 2
const CREEP_MPS = 0.25
const STEP_S = 0.25

/** Movement of a cart along one path: from standstill to standstill, within its limits of speed and acceleration. */
export class Drive {
  readonly #path: Path
  readonly #cruiseMps: number
  #alongM = 0
  #segment = 0
  #speedMps = 0

  /** `cruiseMps` is limited to the top speed. */
  constructor(path: Path, cruiseMps: number) {
    this.#path = path
    this.#cruiseMps = Math.min(cruiseMps, TOP_SPEED_MPS)
  }

  get speedMps(): number {
    return this.#speedMps
  }

  get hasArrived(): boolean {
    return this.#alongM >= this.#path.lengthM
  }

  get position(): Point {
    return placeOn(this.#path, this.#alongM, this.#segment).point
  }

  /** Drives for one second; with `mayMove` false the cart brakes and then stands where it is. */
  stepOneSecond(mayMove: boolean): void {
    for (let i = 0; i < 1 / STEP_S; i++) this.#step(mayMove)
  }

  #step(mayMove: boolean): void {
    const allowedMps = mayMove ? this.#allowedMps() : 0
    this.#speedMps =
      this.#speedMps < allowedMps
        ? Math.min(allowedMps, this.#speedMps + PULLING_MPS2 * STEP_S)
        : Math.max(allowedMps, this.#speedMps - HARD_BRAKING_MPS2 * STEP_S)
    this.#alongM += this.#speedMps * STEP_S
    if (this.#path.lengthM - this.#alongM < CREEP_MPS * STEP_S) {
      this.#alongM = this.#path.lengthM
      this.#speedMps = 0
    }
    this.#segment = segmentAt(this.#path, this.#alongM, this.#segment)
  }

  /** Returns the speed that the bends and the end ahead allow, from the position after this step. */
  #allowedMps(): number {
    const aheadM = this.#alongM + this.#speedMps * STEP_S
    const next = segmentAt(this.#path, aheadM, this.#segment) + 1
    const roomM = Math.max(0, (this.#path.atM[next] ?? 0) - aheadM)
    const limitMps = Math.sqrt((this.#path.limitMps[next] ?? 0) ** 2 + 2 * BRAKING_MPS2 * roomM)
    return Math.max(CREEP_MPS, Math.min(this.#cruiseMps, limitMps))
  }
}
