/** A queue for each owner: owners take turns, so that an owner with many jobs waits only for its own. */
export class FairQueue<Item> {
  /** In the order of their turns; none is empty. */
  readonly #lines = new Map<string, Set<Item>>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  push(owner: string, item: Item): void {
    const line = this.#lines.get(owner)
    if (line === undefined) this.#lines.set(owner, new Set([item]))
    else line.add(item)
  }

  /** Takes the first of a line for which something can be done now, from the owner whose turn came first. */
  take(isPossible: (item: Item) => boolean): Item | undefined {
    for (const [owner, line] of this.#lines) {
      for (const first of line) {
        if (!isPossible(first)) break
        line.delete(first)
        this.#lines.delete(owner)
        if (line.size > 0) this.#lines.set(owner, line)
        return first
      }
    }
    return undefined
  }

  /** Takes an item out of its line; it may be gone already. */
  remove(owner: string, item: Item): void {
    const line = this.#lines.get(owner)
    line?.delete(item)
    if (line?.size === 0) this.#lines.delete(owner)
  }
}
