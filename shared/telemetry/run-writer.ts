import { isHardwareId } from '#shared/ids.ts'
import { isBlockTime } from './block-header.ts'
import { GolombWriter } from './golomb-writer.ts'
import { fold } from './packed-bits.ts'
import { BATTERY, GPS, NO_SPEED } from './records.ts'
import {
  type ColumnModel,
  MAX_RUN_RECORDS,
  MAX_RUNS,
  RunModel,
  STEP_BITS,
  STEPS,
  type StreamModel,
  toSteps,
} from './run-model.ts'
import type { TelemetryRun } from './runs.ts'

/** Writes runs one behind the other; the layout is told in run-reader.ts. */
export class RunWriter {
  readonly #out: GolombWriter
  readonly #model = new RunModel()
  #before: TelemetryRun | undefined
  #records = 0

  constructor(at: number, runs: number) {
    if (runs > MAX_RUNS) throw new RangeError(`more than ${MAX_RUNS} runs`)
    this.#out = new GolombWriter(at, runs * 32)
  }

  /** Runs come by hardware id, then GPS before battery. */
  write(run: TelemetryRun): void {
    const out = this.#out
    const { atMs } = run.records
    checkTimes(atMs)
    this.#records += atMs.length
    if (this.#records > MAX_RUN_RECORDS) throw new RangeError(`more than ${MAX_RUN_RECORDS} records`)
    const stream = this.#model.streams[run.stream]
    out.writeBit(true)
    this.#writeId(run.hardwareId)
    out.writeBit(run.stream === 'battery')
    out.write(fold(atMs.length - stream.count), stream.counts)
    stream.count = atMs.length
    this.#writeTimes(stream, atMs, run.hardwareId)
    const columns = run.stream === 'gps' ? GPS.columnsOf(run.records) : BATTERY.columnsOf(run.records)
    for (const [i, model] of stream.columns.entries()) this.#writeColumn(model, columns[i], atMs.length)
    this.#model.hardwareId = run.hardwareId
    this.#before = run
  }

  /** The bytes have room for 8 more behind `end`. */
  finish(): { readonly bytes: Uint8Array; readonly end: number } {
    this.#out.writeBit(false)
    return this.#out.finish()
  }

  #writeId(hardwareId: string): void {
    const out = this.#out
    const model = this.#model
    const before = model.hardwareId
    if (!isHardwareId(hardwareId)) throw new RangeError(`"${hardwareId}" is no hardware id`)
    out.writeBit(hardwareId === before)
    if (hardwareId === before) return
    let shared = 0
    while (shared < before.length && before[shared] === hardwareId[shared]) shared++
    out.write(before.length - shared, model.dropped)
    out.write(hardwareId.length - shared, model.added)
    for (let i = shared; i < hardwareId.length; i++) out.writeBits(hardwareId.charCodeAt(i), 7)
  }

  #writeTimes(stream: StreamModel, atMs: Float64Array, hardwareId: string): void {
    const out = this.#out
    const before = this.#before
    if (before?.hardwareId === hardwareId && before.records.atMs.length === atMs.length) {
      const isSame = atMs.every((time, i) => time === before.records.atMs[i])
      out.writeBit(isSame)
      if (isSame) return
    }
    const model = this.#model
    const firstMs = atMs[0] ?? 0
    out.write(fold(firstMs - model.firstMs), model.jumps)
    model.firstMs = firstMs
    if (atMs.length === 1) return
    const intervalsMs = atMs.subarray(1).map((time, i) => time - (atMs[i] ?? 0))
    // The median, as one long gap would move the mean.
    const usualMs = intervalsMs.slice().sort()[intervalsMs.length >>> 1] ?? 0
    out.write(fold(usualMs - stream.usualMs), stream.intervals)
    stream.usualMs = usualMs
    for (let i = 0; i < intervalsMs.length; i++) intervalsMs[i] = (intervalsMs[i] ?? 0) - usualMs
    stream.step = this.#writeStep(stream.step, intervalsMs)
    const step = STEPS[stream.step] ?? 1
    for (const lateMs of intervalsMs) out.write(fold(lateMs / step), stream.lateness)
  }

  #writeColumn(model: ColumnModel, column: Int32Array | undefined, count: number): void {
    const { rule } = model
    if (column?.length !== count) throw new RangeError('columns of different lengths')
    const min = rule.isOptional ? NO_SPEED : rule.min
    for (const value of column) {
      if (value < min || value > rule.max) throw new RangeError(`${rule.name} ${value}`)
    }
    const out = this.#out
    const present = rule.isOptional && column.includes(NO_SPEED) ? column.filter((v) => v >= 0) : column
    model.step = this.#writeStep(model.step, present)
    const step = STEPS[model.step] ?? 1
    let before = toSteps(model.first, step, rule)
    let context = model.jumps
    for (const value of column) {
      const steps = toSteps(value, step, rule)
      out.write(fold(steps - before), context)
      before = steps
      context = model.moves
    }
    model.first = column[0] ?? 0
  }

  /** Returns the index of the step the numbers are to be divided by: the one of the run before if it can be. */
  #writeStep(before: number, numbers: Float64Array | Int32Array): number {
    const step = largestStep(numbers) ?? before
    this.#out.writeBit(step === before)
    if (step !== before) this.#out.writeBits(step, STEP_BITS)
    return step
  }
}

/** Undefined if all are 0. */
function largestStep(numbers: Float64Array | Int32Array): number | undefined {
  let step = STEPS.length - 1
  let isZero = true
  for (const number of numbers) {
    if (number === 0) continue
    isZero = false
    while (number % (STEPS[step] ?? 1) !== 0) step--
    if (step === 0) break
  }
  return isZero ? undefined : step
}

function checkTimes(atMs: Float64Array): void {
  if (atMs.length === 0) throw new RangeError('a run without records')
  let before = -1
  for (const time of atMs) {
    if (!isBlockTime(time) || time <= before) throw new RangeError(`time ${time} behind ${before}`)
    before = time
  }
}
