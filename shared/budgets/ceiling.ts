/** Maximum per budget key for things that outlive the program and are counted elsewhere, such as in the store. */
export class Ceiling {
  readonly #perOwner: number
  readonly #onRefused: () => void

  constructor(perOwner: number, onRefused: () => void = () => undefined) {
    this.#perOwner = perOwner
    this.#onRefused = onRefused
  }

  /** True if a budget key that has `taken` may have one more. */
  allows(taken: number): boolean {
    if (taken < this.#perOwner) return true
    this.#onRefused()
    return false
  }
}
