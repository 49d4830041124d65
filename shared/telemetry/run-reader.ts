import { isHardwareId } from '#shared/ids.ts'
import { isBlockTime } from './block-header.ts'
import { DamagedBlockError } from './damaged-block.ts'
import type { GolombContext } from './golomb.ts'
import { GolombReader } from './golomb-reader.ts'
import { BATTERY, GPS, type Records } from './records.ts'
import {
  type ColumnModel,
  fromSteps,
  MAX_RUN_RECORDS,
  MAX_RUNS,
  RunModel,
  STEP_BITS,
  STEPS,
  type StreamModel,
  toSteps,
} from './run-model.ts'
import type { TelemetryRun } from './runs.ts'

// Bits and numbers as golomb.ts has them; signs are folded into the lowest bit (packed-bits.ts). Runs follow one another,
// by hardware id, GPS before battery; each is, behind a bit that is 1 as long as there is another one:
//   a bit: of the same device as the run before. If not: how many characters of that one's id go from its end, how many
//     come instead, and these as 7 bits each
//   a bit: battery
//   count, as the difference from the run of the same kind before
//   if the run before has as many records of the same device, a bit: at the same times. If not:
//     the first time, as the difference from the first time written before
//     if there are more: the usual interval, as the difference from the one before; the step; by how many steps each
//     interval differs from the usual one
//   each column: the step; its numbers in steps, each as the difference from the one before, the first from the first of
//     the column's run before
// A step is one of STEPS: a bit if it is the one before, else 2 bits. A number in steps that may be absent is one higher,
// and 0 if it is absent. The last byte is filled with zeros.

/** Reads runs one behind the other; whatever the bytes are, it throws nothing but `DamagedBlockError`. */
export class RunReader {
  readonly #in: GolombReader
  readonly #model = new RunModel()
  #before: TelemetryRun | undefined
  #records = 0

  /** The content goes on for `WINDOW_OVERRUN_BYTES` in its buffer. */
  constructor(content: Uint8Array) {
    this.#in = new GolombReader(content)
  }

  readAll(): TelemetryRun[] {
    const runs: TelemetryRun[] = []
    while (this.#in.readBit()) {
      if (runs.length === MAX_RUNS) throw impossible(`more than ${MAX_RUNS} runs`)
      const run = this.#readRun()
      runs.push(run)
      this.#before = run
    }
    this.#in.finish()
    return runs
  }

  #readRun(): TelemetryRun {
    const isSameDevice = this.#in.readBit()
    if (!isSameDevice) this.#readId()
    else if (this.#before === undefined) throw impossible('the device of no run')
    const { hardwareId } = this.#model
    if (this.#in.readBit()) {
      const records = BATTERY.allocate(this.#readCount('battery'))
      this.#readTimes('battery', isSameDevice, records)
      this.#readColumns('battery', BATTERY.columnsOf(records))
      return { hardwareId, stream: 'battery', records }
    }
    if (isSameDevice && this.#before?.stream === 'battery') throw impossible('GPS behind battery')
    const records = GPS.allocate(this.#readCount('gps'))
    this.#readTimes('gps', isSameDevice, records)
    this.#readColumns('gps', GPS.columnsOf(records))
    return { hardwareId, stream: 'gps', records }
  }

  #readId(): void {
    const model = this.#model
    const before = model.hardwareId
    const shared = before.length - this.#in.read(model.dropped)
    const added = this.#in.read(model.added)
    if (shared < 0 || shared + added > 64) throw impossible('what is no hardware id')
    let hardwareId = before.slice(0, shared)
    for (let i = 0; i < added; i++) hardwareId += String.fromCharCode(this.#in.readBits(7))
    if (!isHardwareId(hardwareId)) throw impossible('what is no hardware id')
    if (hardwareId <= before) throw impossible('hardware ids that do not ascend')
    model.hardwareId = hardwareId
  }

  #readCount(name: TelemetryRun['stream']): number {
    const stream = this.#model.streams[name]
    stream.count += this.#readSigned(stream.counts)
    this.#records += stream.count
    // every value takes a bit at least: no more is allocated than there can be
    if (stream.count < 1 || stream.count > this.#in.bitsLeft || this.#records > MAX_RUN_RECORDS) {
      throw impossible(`${stream.count} records`)
    }
    return stream.count
  }

  #readTimes(name: TelemetryRun['stream'], isSameDevice: boolean, { atMs }: Records): void {
    const beforeMs = this.#before?.records.atMs
    if (isSameDevice && beforeMs?.length === atMs.length && this.#in.readBit()) {
      atMs.set(beforeMs)
      return
    }
    const model = this.#model
    model.firstMs += this.#readSigned(model.jumps)
    atMs[0] = model.firstMs
    if (atMs.length > 1) this.#readIntervals(model.streams[name], atMs)
    if (!isBlockTime(model.firstMs) || !isBlockTime(atMs[atMs.length - 1] ?? -1)) {
      throw impossible('a time out of range')
    }
  }

  #readIntervals(stream: StreamModel, atMs: Float64Array): void {
    stream.usualMs += this.#readSigned(stream.intervals)
    stream.step = this.#readStep(stream.step)
    const step = STEPS[stream.step] ?? 1
    let timeMs = atMs[0] ?? 0
    for (let i = 1; i < atMs.length; i++) {
      const intervalMs = stream.usualMs + this.#readSigned(stream.lateness) * step
      if (intervalMs < 1) throw impossible('times that do not ascend')
      timeMs += intervalMs
      atMs[i] = timeMs
    }
  }

  #readColumns(name: TelemetryRun['stream'], columns: readonly Int32Array[]): void {
    for (const [i, column] of columns.entries()) {
      const model = this.#model.streams[name].columns[i]
      if (model !== undefined) this.#readColumn(model, column)
    }
  }

  #readColumn(model: ColumnModel, into: Int32Array): void {
    const { rule } = model
    model.step = this.#readStep(model.step)
    const step = STEPS[model.step] ?? 1
    let steps = toSteps(model.first, step, rule)
    let context = model.jumps
    for (let i = 0; i < into.length; i++) {
      steps += this.#readSigned(context)
      const value = fromSteps(steps, step, rule)
      if (value > rule.max || value < rule.min) {
        if (!rule.isOptional || steps !== 0) throw impossible(`${rule.name} out of range`)
      }
      into[i] = value
      context = model.moves
    }
    model.first = into[0] ?? 0
  }

  #readStep(before: number): number {
    return this.#in.readBit() ? before : this.#in.readBits(STEP_BITS)
  }

  #readSigned(context: GolombContext): number {
    const folded = this.#in.read(context)
    return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2
  }
}

function impossible(what: string): DamagedBlockError {
  return new DamagedBlockError('impossible_content', what)
}
