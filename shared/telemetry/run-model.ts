import type { TelemetryStream } from '#shared/ids.ts'
import { GolombContext } from './golomb.ts'
import { BATTERY, type ColumnRule, GPS } from './records.ts'

/** How many records all runs of a part may have. */
export const MAX_RUN_RECORDS = 1_000_000
/** How many runs a part may have: in memory each takes a hundred times what it takes here. */
export const MAX_RUNS = 50_000

/** Powers of ten that the numbers of a column are multiples of: receivers report tenths and hundredths. */
export const STEPS = [1, 10, 100, 1000] as const
export const STEP_BITS = 2

/** What the next run's column is told apart from. */
export class ColumnModel {
  readonly rule: ColumnRule
  /** Index in `STEPS`. */
  step = 0
  /** The first of the run before. */
  first = 0
  /** Of the first of a run, which is another device's than the one before. */
  readonly jumps = new GolombContext(1000)
  readonly moves = new GolombContext(16)

  constructor(rule: ColumnRule) {
    this.rule = rule
  }
}

/** What writer and reader both know of the runs before, of one kind. */
export class StreamModel {
  count = 0
  /** The interval of the run before. */
  usualMs = 0
  step = 0
  readonly columns: readonly ColumnModel[]
  readonly counts = new GolombContext(1)
  readonly intervals = new GolombContext(100)
  /** By how much intervals differ from the usual one. */
  readonly lateness = new GolombContext(1)

  constructor(rules: readonly ColumnRule[]) {
    this.columns = rules.map((rule) => new ColumnModel(rule))
  }
}

/** What writer and reader both know of the runs before. */
export class RunModel {
  hardwareId = ''
  firstMs = 0
  readonly dropped = new GolombContext(1)
  readonly added = new GolombContext(1)
  readonly jumps = new GolombContext(500)
  readonly streams: Readonly<Record<TelemetryStream, StreamModel>> = {
    gps: new StreamModel(GPS.rules),
    battery: new StreamModel(BATTERY.rules),
  }
}

/** The number by which a value is written: an absent one is 0. */
export function toSteps(value: number, step: number, { isOptional }: ColumnRule): number {
  if (!isOptional) return Math.floor(value / step)
  return value < 0 ? 0 : Math.floor(value / step) + 1
}

export function fromSteps(steps: number, step: number, { isOptional }: ColumnRule): number {
  if (!isOptional) return steps * step
  return steps === 0 ? -1 : (steps - 1) * step
}
