/** Queue per budget key, served round robin: a key with many jobs delays only its own. */
export class FairQueue<Item> {
  /** Queues in round-robin order; none is empty. */
  readonly #lines = new Map<string, Set<Item>>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  push(owner: string, item: Item): void {
    const line = this.#lines.get(owner)
    if (line === undefined) this.#lines.set(owner, new Set([item]))
    else line.add(item)
  }

  /** Takes the first possible item of a queue, from the budget key that comes first in the round-robin order. */
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

  /** Removes an item from its queue, if it is still there. */
  remove(owner: string, item: Item): void {
    const line = this.#lines.get(owner)
    line?.delete(item)
    if (line?.size === 0) this.#lines.delete(owner)
  }
}
