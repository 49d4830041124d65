import { setImmediate } from 'node:timers/promises'
import type { JsonItems } from '../found-trips.ts'

/** Bytes in a piece of an answer: less than a millisecond of work. */
const PIECE_BYTES = 65_536

const COMMA = Buffer.from(',')

/**
 * The items of many lists as one list by when they began, of equal times those of the earlier list first: JSON with
 * commas between them, a piece at a time, with a turn for everybody else after each. Between the items of one list there
 * are commas already, so what comes from one list in a row is taken as it is.
 */
export async function* mergedItems(lists: readonly JsonItems[]): AsyncGenerator<Uint8Array> {
  const cursors = new EarliestFirst(lists.map((items, list) => new Cursor(items, list)))
  let piece: Uint8Array[] = []
  let pieceBytes = 0
  for (let cursor = cursors.first; cursor !== undefined; cursor = cursors.first) {
    const run = cursor.takeUntil(cursors.second)
    cursors.sinkFirst()
    const isLast = cursors.first === undefined
    piece.push(run, ...(isLast ? [] : [COMMA]))
    pieceBytes += run.length + 1
    if (pieceBytes < PIECE_BYTES && !isLast) continue
    yield Buffer.concat(piece)
    piece = []
    pieceBytes = 0
    await setImmediate()
  }
}

/** A place in one list. */
class Cursor {
  readonly #items: JsonItems
  readonly #list: number
  #at = 0

  constructor(items: JsonItems, list: number) {
    this.#items = items
    this.#list = list
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#items.startMs.length
  }

  isBefore(other: Cursor): boolean {
    const [mine, others] = [this.#nextMs, other.#nextMs]
    return mine < others || (mine === others && this.#list < other.#list)
  }

  /** The items up to the next one of the other list. */
  takeUntil(other: Cursor | undefined): Uint8Array {
    const { text, ends } = this.#items
    const from = this.#at === 0 ? 0 : (ends[this.#at - 1] ?? 0) + 1
    do this.#at++
    while (!this.isAtEnd && (other === undefined || this.isBefore(other)))
    return text.subarray(from, ends[this.#at - 1])
  }

  get #nextMs(): number {
    return this.#items.startMs[this.#at] ?? Number.POSITIVE_INFINITY
  }
}

/** A binary heap of places in lists, the one with the earliest item on top. */
class EarliestFirst {
  readonly #heap: Cursor[] = []

  constructor(cursors: readonly Cursor[]) {
    this.#heap = cursors.filter((cursor) => !cursor.isAtEnd)
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) this.#sink(i)
  }

  get first(): Cursor | undefined {
    return this.#heap[0]
  }

  /** The one that would be first without the first. */
  get second(): Cursor | undefined {
    const [, left, right] = this.#heap
    return left !== undefined && right?.isBefore(left) ? right : left
  }

  /** The first has moved on. */
  sinkFirst(): void {
    if (this.#heap[0]?.isAtEnd) {
      const last = this.#heap.pop()
      if (last !== undefined && this.#heap.length > 0) this.#heap[0] = last
    }
    this.#sink(0)
  }

  #sink(from: number): void {
    const heap = this.#heap
    for (let i = from; ; ) {
      const cursor = heap[i]
      let least = 2 * i + 1
      const [left, right] = [heap[least], heap[least + 1]]
      if (left !== undefined && right?.isBefore(left)) least++
      const child = heap[least]
      if (cursor === undefined || child === undefined || !child.isBefore(cursor)) return
      heap[i] = child
      heap[least] = cursor
      i = least
    }
  }
}
