import {
  bitsOf,
  clearBits,
  fold,
  foldNarrow,
  INTEGERS_HEAD_BYTES,
  TIMES_HEAD_BYTES,
  VALUES_PER_GROUP,
  writeBits,
} from './packed-bits.ts'
import type { ColumnRule } from './records.ts'

/** Bound of differences and their quotients below which 32-bit numbers are sufficient. */
const NARROW_LIMIT = 2 ** 30

/** Work buffers for columns up to a maximum length, reused for one column after another. */
export class ColumnScratch {
  readonly wide: Float64Array
  readonly sorted: Float64Array
  readonly narrow: Int32Array

  constructor(count: number) {
    this.wide = new Float64Array(count)
    this.sorted = new Float64Array(count)
    this.narrow = new Int32Array(count)
  }
}

// As in the reader, each loop exists twice: for the usual differences and for those that need more than 32 bits.
/** Writes consecutive packed columns (packed-bits.ts); some bytes after the last one are undefined. */
export class ColumnWriter {
  readonly #view: DataView
  #at: number
  readonly #scratch: ColumnScratch

  constructor(view: DataView, at: number, scratch: ColumnScratch) {
    this.#view = view
    this.#at = at
    this.#scratch = scratch
  }

  /** End offset of the last column. */
  get at(): number {
    return this.#at
  }

  /** Writes all times except the first; the head holds the usual interval and the step in which others differ. */
  writeTimes(atMs: Float64Array): void {
    const { wide, narrow } = this.#scratch
    const count = atMs.length - 1
    for (let i = 0; i < count; i++) wide[i] = (atMs[i + 1] ?? 0) - (atMs[i] ?? 0)
    // The median, because one long gap would move the mean.
    const usualMs = this.#medianOfWide(count)
    let largest = 0
    for (let i = 0; i < count; i++) {
      const difference = (wide[i] ?? 0) - usualMs
      wide[i] = difference
      narrow[i] = difference
      largest = Math.max(largest, Math.abs(difference))
    }
    const isNarrow = largest < NARROW_LIMIT
    const stepMs = isNarrow ? narrowStep(narrow, count) : wideStep(wide, count)
    this.#view.setFloat64(this.#at, usualMs, true)
    this.#view.setFloat64(this.#at + 8, stepMs, true)
    this.#at += TIMES_HEAD_BYTES
    this.#writeDifferences(isNarrow, count, stepMs)
  }

  /** Writes whole numbers; the head holds the first one and the step in which they change. */
  writeIntegers(column: Int32Array, rule: ColumnRule): void {
    const { wide, narrow } = this.#scratch
    const values = rule.isOptional && column.includes(-1) ? absentAsOneStepBelow(column) : column
    const count = values.length - 1
    let largest = 0
    for (let i = 0; i < count; i++) {
      const difference = (values[i + 1] ?? 0) - (values[i] ?? 0)
      narrow[i] = difference
      largest = Math.max(largest, Math.abs(difference))
    }
    const isNarrow = largest < NARROW_LIMIT
    if (!isNarrow) for (let i = 0; i < count; i++) wide[i] = (values[i + 1] ?? 0) - (values[i] ?? 0)
    const step = isNarrow ? narrowStep(narrow, count) : wideStep(wide, count)
    this.#view.setInt32(this.#at, values[0] ?? 0, true)
    this.#view.setUint32(this.#at + 4, step, true)
    this.#at += INTEGERS_HEAD_BYTES
    this.#writeDifferences(isNarrow, count, step)
  }

  #medianOfWide(count: number): number {
    const { wide, sorted } = this.#scratch
    const [first = 0] = wide
    let isEven = true
    for (let i = 1; i < count && isEven; i++) isEven = wide[i] === first
    if (count === 0) return 0
    if (isEven) return first
    sorted.set(wide.subarray(0, count))
    return nthSmallest(sorted, count, count >>> 1)
  }

  #writeDifferences(isNarrow: boolean, count: number, step: number): void {
    if (isNarrow) this.#writeNarrow(count, step)
    else this.#writeWide(count, step)
  }

  #writeNarrow(count: number, step: number): void {
    const values = this.#scratch.narrow
    for (let from = 0; from < count; from += VALUES_PER_GROUP) {
      const to = Math.min(from + VALUES_PER_GROUP, count)
      let bits = 0
      for (let i = from; i < to; i++) {
        const difference = values[i] ?? 0
        const steps = step === 1 ? difference : (difference / step) | 0
        const folded = foldNarrow(steps)
        values[i] = folded
        bits |= folded
      }
      this.#writeGroup(values, from, to, bitsOf(bits))
    }
  }

  #writeWide(count: number, step: number): void {
    const values = this.#scratch.wide
    for (let from = 0; from < count; from += VALUES_PER_GROUP) {
      const to = Math.min(from + VALUES_PER_GROUP, count)
      let largest = 0
      for (let i = from; i < to; i++) {
        const folded = fold((values[i] ?? 0) / step)
        values[i] = folded
        largest = Math.max(largest, folded)
      }
      const width = bitsOf(largest)
      this.#view.setUint8(this.#at, width)
      let bit = (this.#at + 1) * 8
      clearBits(this.#view, bit, (to - from) * width)
      for (let i = from; i < to; i++) {
        writeBits(this.#view, bit, width, values[i] ?? 0)
        bit += width
      }
      this.#at = (bit + 7) >>> 3
    }
  }

  /** Writes four bytes at a time: a read that overlaps a preceding write would have to wait for it. */
  #writeGroup(values: Int32Array, from: number, to: number, width: number): void {
    const view = this.#view
    view.setUint8(this.#at, width)
    let at = this.#at + 1
    let bits = 0
    let length = 0
    for (let i = from; i < to && width > 0; i++) {
      const value = values[i] ?? 0
      bits |= value << length
      length += width
      if (length < 32) continue
      view.setUint32(at, bits, true)
      at += 4
      length -= 32
      bits = length === 0 ? 0 : value >>> (width - length)
    }
    view.setUint32(at, bits, true)
    this.#at = at + ((length + 7) >>> 3)
  }
}

/** Absent values are -1, which need not share a step with the known ones: they are written as one step below 0. */
function absentAsOneStepBelow(column: Int32Array): Int32Array {
  const known = column.filter((value) => value > 0)
  const step = narrowStep(known, known.length)
  return column.map((value) => (value < 0 ? -step : value))
}

/** Greatest common divisor of the first `count` values; 1 if all are 0. None may be -(2 ** 31). */
function narrowStep(values: Int32Array, count: number): number {
  let step = 0
  for (let i = 0; i < count && step !== 1; i++) {
    // Euclid's algorithm; usually the value is a multiple already, which takes one division.
    let divisor = Math.abs(values[i] ?? 0)
    while (step !== 0) {
      const rest = divisor % step
      divisor = step
      step = rest
    }
    step = divisor
  }
  return Math.max(step, 1)
}

function wideStep(values: Float64Array, count: number): number {
  let step = 0
  for (let i = 0; i < count && step !== 1; i++) {
    let divisor = Math.abs(values[i] ?? 0)
    while (step !== 0) {
      const rest = divisor % step
      divisor = step
      step = rest
    }
    step = divisor
  }
  return Math.max(step, 1)
}

/** Returns the value that would be at `n` if the first `count` were sorted; changes their order. Hoare's selection. */
function nthSmallest(values: Float64Array, count: number, n: number): number {
  let from = 0
  let to = count - 1
  while (from < to) {
    const pivot = values[(from + to) >>> 1] ?? 0
    let low = from
    let high = to
    while (low <= high) {
      while ((values[low] ?? 0) < pivot) low++
      while ((values[high] ?? 0) > pivot) high--
      if (low > high) break
      const value = values[low] ?? 0
      values[low] = values[high] ?? 0
      values[high] = value
      low++
      high--
    }
    if (n <= high) to = high
    else if (n >= low) from = low
    else return pivot
  }
  return values[n] ?? 0
}
