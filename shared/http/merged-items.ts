import { setImmediate } from 'node:timers/promises'
import type { JsonItems } from '#shared/trips/found.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'

/** Size of a chunk, exceeded by one item at most: a fraction of a millisecond of work. */
const PIECE_BYTES = 65_536

const COMMA = 0x2c

/**
 * Merges lists into one, ordered by start time: JSON with commas, chunk by chunk, with a tick for other requests after
 * each. The lists must be in this order already. For equal times, items of the earlier list come first when ascending,
 * those of the later list when descending. The items of one list have commas between them already, so consecutive items
 * of a list are copied as a whole. The memory of the lists is freed at the end, even if the caller stops early: V8
 * would keep megabytes of each response until they add up to 64 MB.
 */
export async function* mergedItems(lists: readonly JsonItems[], order: ListOrder): AsyncGenerator<Uint8Array> {
  const cursors = new NextFirst(lists, order)
  let runs: Uint8Array[] = []
  let bytes = 0
  try {
    for (let run = cursors.nextRun(PIECE_BYTES); run !== undefined; run = cursors.nextRun(PIECE_BYTES - bytes)) {
      runs.push(run)
      bytes += run.length + 1
      if (bytes < PIECE_BYTES && !cursors.isAtEnd) continue
      yield joined(runs, bytes, cursors.isAtEnd)
      runs = []
      bytes = 0
      await setImmediate()
    }
  } finally {
    for (const { text, ends, startMs } of lists) for (const { buffer } of [text, ends, startMs]) buffer.transfer(0)
  }
}

/** Joins the runs, with a comma after each except the last of all. */
function joined(runs: readonly Uint8Array[], bytes: number, isEnd: boolean): Uint8Array {
  const piece = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const run of runs) {
    piece.set(run, at)
    at += run.length
    piece[at++] = COMMA
  }
  return isEnd ? piece.subarray(0, -1) : piece
}

/**
 * Binary heap of the lists with remaining items. The list with the next item is on top: the earliest, or the latest
 * when descending. Contains only numbers, because it is used for every item.
 */
class NextFirst {
  readonly #isDescending: boolean
  readonly #lists: readonly JsonItems[]
  /** Next item of each list, its offset in the text, and its time. */
  readonly #next: Uint32Array
  readonly #from: Uint32Array
  readonly #startMs: Float64Array
  readonly #heap: Uint32Array
  #size = 0

  constructor(lists: readonly JsonItems[], order: ListOrder) {
    this.#isDescending = order === 'desc'
    this.#lists = lists
    this.#next = new Uint32Array(lists.length)
    this.#from = new Uint32Array(lists.length)
    this.#startMs = Float64Array.from(lists, ({ startMs }) => startMs[0] ?? 0)
    this.#heap = new Uint32Array(lists.length)
    for (const [list, { startMs }] of lists.entries()) if (startMs.length > 0) this.#heap[this.#size++] = list
    for (let i = (this.#size >> 1) - 1; i >= 0; i--) this.#sink(i)
  }

  get isAtEnd(): boolean {
    return this.#size === 0
  }

  /** Returns the next items of one list, up to an item of another list or a number of bytes; undefined at the end. */
  nextRun(bytes: number): Uint8Array | undefined {
    const list = this.#heap[0] ?? 0
    const items = this.#lists[list]
    if (this.#size === 0 || items === undefined) return undefined
    const from = this.#from[list] ?? 0
    let to = from
    do {
      to = this.#take(list, items)
    } while (this.#size > 0 && this.#heap[0] === list && to - from < bytes)
    return items.text.subarray(from, to)
  }

  /** Returns the end offset of the item. */
  #take(list: number, { ends, startMs }: JsonItems): number {
    const item = this.#next[list] ?? 0
    const end = ends[item] ?? 0
    const next = item + 1
    this.#next[list] = next
    this.#from[list] = end + 1
    this.#startMs[list] = startMs[next] ?? 0
    if (next === startMs.length) this.#heap[0] = this.#heap[--this.#size] ?? 0
    this.#sink(0)
    return end
  }

  #sink(from: number): void {
    const heap = this.#heap
    const list = heap[from] ?? 0
    let i = from
    for (let child = 2 * i + 1; child < this.#size; child = 2 * i + 1) {
      if (child + 1 < this.#size && this.#isBefore(heap[child + 1] ?? 0, heap[child] ?? 0)) child++
      const least = heap[child] ?? 0
      if (!this.#isBefore(least, list)) break
      heap[i] = least
      i = child
    }
    heap[i] = list
  }

  #isBefore(list: number, other: number): boolean {
    const mine = this.#startMs[list] ?? 0
    const others = this.#startMs[other] ?? 0
    const isEarlier = mine < others || (mine === others && list < other)
    return isEarlier !== this.#isDescending
  }
}
