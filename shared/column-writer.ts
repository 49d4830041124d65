import { bitsOf, fold, GROUP, INTEGERS_HEAD_BYTES, TIMES_HEAD_BYTES, writeBits } from './packed-bits.ts'
import type { ColumnRule } from './telemetry-records.ts'

/** Writes packed columns one behind the other (packed-bits.ts) into a buffer that was all zero. */
export class ColumnWriter {
  readonly #view: DataView
  #at: number
  /** Room to work in: of at least as many numbers as the longest column has. */
  readonly #scratch: Float64Array

  constructor(view: DataView, at: number, count: number) {
    this.#view = view
    this.#at = at
    this.#scratch = new Float64Array(count)
  }

  /** Where the last column ended. */
  get at(): number {
    return this.#at
  }

  /** All times but the first; the head is the usual interval and the step in which intervals differ from it. */
  writeTimes(atMs: Float64Array): void {
    const intervalsMs = this.#differencesOf(atMs)
    // The median, as one long gap would move the mean.
    const usualMs = intervalsMs.slice().sort()[intervalsMs.length >>> 1] ?? 0
    for (let i = 0; i < intervalsMs.length; i++) intervalsMs[i] = (intervalsMs[i] ?? 0) - usualMs
    const stepMs = commonStep(intervalsMs)
    this.#view.setFloat64(this.#at, usualMs, true)
    this.#view.setFloat64(this.#at + 8, stepMs, true)
    this.#at += TIMES_HEAD_BYTES
    this.#writeGroups(intervalsMs, stepMs)
  }

  /** Whole numbers; the head is the first and the step in which they change. */
  writeIntegers(column: Int32Array, rule: ColumnRule): void {
    const values = rule.isOptional && column.includes(-1) ? absentAsOneStepBelow(column) : column
    const differences = this.#differencesOf(values)
    const step = commonStep(differences)
    this.#view.setInt32(this.#at, values[0] ?? 0, true)
    this.#view.setUint32(this.#at + 4, step, true)
    this.#at += INTEGERS_HEAD_BYTES
    this.#writeGroups(differences, step)
  }

  #differencesOf(values: Float64Array | Int32Array): Float64Array {
    const differences = this.#scratch.subarray(0, values.length - 1)
    for (let i = 1; i < values.length; i++) differences[i - 1] = (values[i] ?? 0) - (values[i - 1] ?? 0)
    return differences
  }

  #writeGroups(differences: Float64Array, step: number): void {
    const view = this.#view
    for (let from = 0; from < differences.length; from += GROUP) {
      const to = Math.min(from + GROUP, differences.length)
      let largest = 0
      for (let i = from; i < to; i++) {
        const folded = fold((differences[i] ?? 0) / step)
        differences[i] = folded
        if (folded > largest) largest = folded
      }
      const width = bitsOf(largest)
      view.setUint8(this.#at, width)
      let bit = (this.#at + 1) * 8
      for (let i = from; i < to; i++) {
        writeBits(view, bit, width, differences[i] ?? 0)
        bit += width
      }
      this.#at = (bit + 7) >>> 3
    }
  }
}

/** Absent is -1, which no known value need share a step with: so it is written as one of their steps below 0. */
function absentAsOneStepBelow(column: Int32Array): Int32Array {
  const step = commonStep(column.filter((value) => value > 0))
  return column.map((value) => (value < 0 ? -step : value))
}

/** The largest number all are multiples of; 1 if all are 0. */
function commonStep(values: Float64Array | Int32Array): number {
  let step = 0
  for (let i = 0; i < values.length && step !== 1; i++) {
    // Euclid's algorithm; mostly the value is a multiple already and it takes one division.
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
