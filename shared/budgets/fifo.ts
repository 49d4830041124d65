/** Queue with constant-time push and take. */
export class Fifo<Item> {
  #items: Item[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  peek(): Item | undefined {
    return this.#items[this.#head]
  }

  take(): Item | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#head++
    // half of the array is used up: one copy per doubling
    if (this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
