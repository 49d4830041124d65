export interface SlotLimits {
  readonly perOwner: number
  /** Of all owners together; without it no limit. */
  readonly total?: number
  /** Of the total: kept for those who may use it, so that the others cannot lock them out. */
  readonly reserve?: number
}

/** How many of something each owner has at once. */
export class Slots {
  readonly #limits: Required<SlotLimits>
  readonly #onRefused: () => void
  readonly #byOwner = new Map<string, number>()
  #taken = 0

  constructor(limits: SlotLimits, onRefused: () => void = () => undefined) {
    this.#limits = { total: Number.POSITIVE_INFINITY, reserve: 0, ...limits }
    this.#onRefused = onRefused
  }

  /**
   * Takes one, until it is given back with `release`; false when the owner, who may have `most`, or all of them have as
   * many as they may.
   */
  take(owner: string, { mayUseReserve = false, most = this.#limits.perOwner } = {}): boolean {
    const { total, reserve } = this.#limits
    const taken = this.takenBy(owner)
    if (taken >= most || this.#taken >= (mayUseReserve ? total : total - reserve)) {
      this.#onRefused()
      return false
    }
    this.#byOwner.set(owner, taken + 1)
    this.#taken++
    return true
  }

  release(owner: string): void {
    const left = this.takenBy(owner) - 1
    if (left < 0) throw new Error(`${owner} gives back what it has not taken`)
    if (left === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, left)
    this.#taken--
  }

  takenBy(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }

  get taken(): number {
    return this.#taken
  }
}
