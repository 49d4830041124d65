/** Counts of faults by the kind of write that they met: sealing is rare, and closing time comes once. */
export class RareWrites {
  readonly #counts = new Map<string, number>()

  /** True if no other kind of write that has occurred was met by fewer faults. */
  isRare(name: string): boolean {
    const count = this.#counts.get(name) ?? 0
    this.#counts.set(name, count)
    return count <= Math.min(...this.#counts.values())
  }

  count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }
}
