/** Items sorted by deadline: a heap, so that the next one is found immediately and any can be removed. */
export class Deadlines<Item> {
  readonly #heap: { item: Item; atMs: number }[] = []
  readonly #places = new Map<Item, number>()

  get size(): number {
    return this.#heap.length
  }

  /** Time of the next deadline; undefined if empty. */
  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs
  }

  set(item: Item, atMs: number): void {
    this.delete(item)
    this.#heap.push({ item, atMs })
    this.#rise(this.#heap.length - 1)
  }

  delete(item: Item): void {
    const place = this.#places.get(item)
    const last = this.#heap.at(-1)
    if (place === undefined || last === undefined) return
    this.#heap.pop()
    this.#places.delete(item)
    if (last.item === item) return
    this.#put(place, last)
    this.#sink(place)
    this.#rise(place)
  }

  /** Removes and returns the items due at `nowMs`, in order, at most `max`. */
  takeDue(nowMs: number, max: number): Item[] {
    const due: Item[] = []
    for (let [next] = this.#heap; next !== undefined && next.atMs <= nowMs; [next] = this.#heap) {
      if (due.length === max) break
      due.push(next.item)
      this.delete(next.item)
    }
    return due
  }

  #put(place: number, entry: { item: Item; atMs: number }): void {
    this.#heap[place] = entry
    this.#places.set(entry.item, place)
  }

  #rise(from: number): void {
    const entry = this.#heap[from]
    if (entry === undefined) return
    let place = from
    while (place > 0) {
      const above = Math.floor((place - 1) / 2)
      const parent = this.#heap[above]
      if (parent === undefined || parent.atMs <= entry.atMs) break
      this.#put(place, parent)
      place = above
    }
    this.#put(place, entry)
  }

  #sink(from: number): void {
    const entry = this.#heap[from]
    if (entry === undefined) return
    let place = from
    for (;;) {
      let below = 2 * place + 1
      let child = this.#heap[below]
      const right = this.#heap[below + 1]
      if (child !== undefined && right !== undefined && right.atMs < child.atMs) {
        child = right
        below++
      }
      if (child === undefined || child.atMs >= entry.atMs) break
      this.#put(place, child)
      place = below
    }
    this.#put(place, entry)
  }
}
