/** How many of something an owner may have, where somebody else counts them: because they outlive the program. */
export class Ceiling {
  readonly #perOwner: number
  readonly #onRefused: () => void

  constructor(perOwner: number, onRefused: () => void = () => undefined) {
    this.#perOwner = perOwner
    this.#onRefused = onRefused
  }

  /** Whether an owner who has so many may have one more. */
  allows(taken: number): boolean {
    if (taken < this.#perOwner) return true
    this.#onRefused()
    return false
  }
}
