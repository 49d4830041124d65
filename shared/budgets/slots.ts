export interface SlotLimits {
  readonly perOwner: number
  /** Limit over all budget keys; unlimited if absent. */
  readonly total?: number
  /** Share of the total for privileged callers, so that the others cannot lock them out. */
  readonly reserve?: number
}

/** Concurrent use per budget key. */
export class Slots {
  readonly #limits: Required<SlotLimits>
  readonly #onRefused: () => void
  readonly #byOwner = new Map<string, number>()
  #taken = 0

  constructor(limits: SlotLimits, onRefused: () => void = () => undefined) {
    this.#limits = { total: Number.POSITIVE_INFINITY, reserve: 0, ...limits }
    this.#onRefused = onRefused
  }

  /** Takes a slot, returned with `release`; false if the budget key has `most` already or the total is used up. */
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
    if (left < 0) throw new Error(`${owner} released a slot that it had not taken`)
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
