import { DamagedBlockError } from './damaged-block.ts'
import {
  INTEGERS_HEAD_BYTES,
  MAX_BITS,
  NARROW_BITS,
  readNarrow,
  readWide,
  TIMES_HEAD_BYTES,
  unpackNarrow,
  unpackWide,
  VALUES_PER_GROUP,
} from './packed-bits.ts'
import type { ColumnRule } from './records.ts'

// The two loops are nearly the same: a single one for both array types would take half as long again.
/**
 * Reads consecutive packed columns (packed-bits.ts) into columns of the caller, from `offset` on. Whatever the bytes
 * are, it throws nothing but `DamagedBlockError` and reads nothing outside the view.
 */
export class ColumnReader {
  readonly #view: DataView
  #at: number
  readonly #end: number

  /** The view must extend `WINDOW_OVERRUN_BYTES` beyond `end`. */
  constructor(view: DataView, at: number, end: number) {
    this.#view = view
    this.#at = at
    this.#end = end
  }

  readTimes(firstMs: number, into: Float64Array, offset: number, count: number): void {
    const view = this.#view
    const head = this.#take(TIMES_HEAD_BYTES)
    const usualMs = view.getFloat64(head, true)
    const stepMs = view.getFloat64(head + 8, true)
    if (!Number.isSafeInteger(usualMs) || !Number.isSafeInteger(stepMs)) throw impossible('part of a ms')
    const stop = offset + count
    let timeMs = firstMs
    let ascends = true
    into[offset] = timeMs
    for (let from = offset + 1; from < stop; from += VALUES_PER_GROUP) {
      const to = Math.min(from + VALUES_PER_GROUP, stop)
      const width = view.getUint8(this.#at)
      let bit = this.#takeGroup(width, to - from)
      if (width <= NARROW_BITS) {
        const mask = (1 << width) - 1
        for (let i = from; i < to; i++) {
          const intervalMs = usualMs + unpackNarrow(readNarrow(view, bit, mask)) * stepMs
          timeMs += intervalMs
          into[i] = timeMs
          if (intervalMs < 1) ascends = false
          bit += width
        }
      } else {
        for (let i = from; i < to; i++) {
          const intervalMs = usualMs + unpackWide(readWide(view, bit, width)) * stepMs
          timeMs += intervalMs
          into[i] = timeMs
          if (intervalMs < 1) ascends = false
          bit += width
        }
      }
    }
    if (!ascends) throw impossible('times that do not ascend')
  }

  readIntegers(rule: ColumnRule, into: Int32Array, offset: number, count: number): void {
    const view = this.#view
    const head = this.#take(INTEGERS_HEAD_BYTES)
    const step = view.getUint32(head + 4, true)
    const { min, max } = rule
    const stop = offset + count
    // Sums are modulo 2^32: the difference across the antimeridian exceeds an Int32.
    let value = view.getInt32(head, true)
    let isWithin = value >= min && value <= max
    into[offset] = value
    for (let from = offset + 1; from < stop; from += VALUES_PER_GROUP) {
      const to = Math.min(from + VALUES_PER_GROUP, stop)
      const width = view.getUint8(this.#at)
      let bit = this.#takeGroup(width, to - from)
      if (width <= NARROW_BITS) {
        const mask = (1 << width) - 1
        for (let i = from; i < to; i++) {
          value = (value + Math.imul(unpackNarrow(readNarrow(view, bit, mask)), step)) | 0
          into[i] = value
          if (value < min || value > max) isWithin = false
          bit += width
        }
      } else {
        for (let i = from; i < to; i++) {
          value = (value + unpackWide(readWide(view, bit, width)) * step) | 0
          into[i] = value
          if (value < min || value > max) isWithin = false
          bit += width
        }
      }
    }
    if (isWithin) return
    if (!rule.isOptional) throw impossible(`${rule.name} out of range`)
    markAbsent(rule, into, offset, stop)
  }

  /** Must be called after the last column. */
  finish(): void {
    if (this.#at !== this.#end) throw impossible('bytes after the last column')
  }

  #take(bytes: number): number {
    const at = this.#at
    this.#at += bytes
    if (this.#at > this.#end) throw impossible('a column extends beyond the end')
    return at
  }

  /** Returns the bit offset of the first value. */
  #takeGroup(width: number, count: number): number {
    if (width > MAX_BITS) throw impossible(`values of ${width} bits`)
    return (this.#take(1 + ((width * count + 7) >>> 3)) + 1) * 8
  }
}

function markAbsent(rule: ColumnRule, column: Int32Array, from: number, to: number): void {
  for (let i = from; i < to; i++) {
    const value = column[i] ?? 0
    if (value < 0) column[i] = -1
    else if (value > rule.max) throw impossible(`${rule.name} out of range`)
  }
}

function impossible(what: string): DamagedBlockError {
  return new DamagedBlockError('impossible_content', what)
}
