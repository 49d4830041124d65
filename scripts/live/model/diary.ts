import { BARN, distanceM, HOLE_SPOTS, type Spot } from './ground.ts'
import { localToMs, nextDay, toLocal } from './local-time.ts'

/** Half the width of the barn. */
const BARN_M = 30

/** Part of a journey: a drive, or a stay if it ends where it began. */
export interface Leg {
  readonly fromMs: number
  readonly toMs: number
  readonly from: Spot
  readonly to: Spot
}

/** Time from leaving the barn to the return, and the holes that were played. */
export interface Outing {
  readonly leavesMs: number
  readonly returnsMs: number
  readonly holes: readonly number[]
  /** Lengths in metres of its drives that are long enough for trips. */
  readonly trips: readonly number[]
}

/** Local day of a cart. */
export interface DiaryDay {
  metres: number
  outMs: number
  /** Outings that began on it. */
  readonly outings: Outing[]
  /** Lowest voltage that it sent while it drove. */
  lowestV: number | null
  /** Newest voltage that it sent at rest before noon and before it drove. */
  morningV: number | null
  hasDriven: boolean
}

/** Local days of one cart, kept for two months. */
export class Diary {
  readonly #days = new Map<string, DiaryDay>()

  day(date: string): DiaryDay {
    const known = this.#days.get(date)
    if (known !== undefined) return known
    const day = { metres: 0, outMs: 0, outings: [], lowestV: null, morningV: null, hasDriven: false }
    this.#days.set(date, day)
    const [oldest] = this.#days.keys()
    if (this.#days.size > 62 && oldest !== undefined) this.#days.delete(oldest)
    return day
  }

  /** Enters a journey from the barn and back; a night between two days divides it. */
  journey(legs: readonly Leg[]): void {
    const [first, last] = [legs[0], legs.at(-1)]
    if (first === undefined || last === undefined) return
    const leavesMs = first.fromMs + edgeMs(first)
    const returnsMs = last.toMs - edgeMs(last)
    const holes = legs
      .filter(({ from, to }) => from === to)
      .map(({ to }) => HOLE_SPOTS.indexOf(to) + 1)
      .filter((hole) => hole > 0)
    this.day(toLocal(leavesMs).date).outings.push({ leavesMs, returnsMs, holes, trips: tripsOf(legs) })
    for (const { fromMs, toMs, from, to } of legs) {
      const metresAMs = distanceM(from, to) / (toMs - fromMs)
      for (const part of byDay(fromMs, toMs)) this.day(part.date).metres += metresAMs * (part.toMs - part.fromMs)
    }
    for (const part of byDay(leavesMs, returnsMs)) this.day(part.date).outMs += part.toMs - part.fromMs
  }

  /** Enters a sample that the cart sends. */
  sample({ atMs, isDriving, isAtRest, voltageV }: DiarySample): void {
    const { date, minute } = toLocal(atMs)
    const day = this.day(date)
    if (isDriving) {
      day.hasDriven = true
      day.lowestV = Math.min(day.lowestV ?? voltageV, voltageV)
    }
    if (isAtRest && !day.hasDriven && minute < 12 * 60) day.morningV = voltageV
  }
}

interface DiarySample {
  readonly atMs: number
  readonly isDriving: boolean
  readonly isAtRest: boolean
  readonly voltageV: number
}

/** Lengths of the drives that are trips by the settings of a course: of five minutes, with stops of less than three. */
function tripsOf(legs: readonly Leg[]): number[] {
  const drives: { fromMs: number; toMs: number; metres: number }[] = []
  for (const { fromMs, toMs, from, to } of legs) {
    const last = drives.at(-1)
    const metres = distanceM(from, to)
    if (metres === 0) continue
    if (last === undefined || fromMs - last.toMs >= 180_000) drives.push({ fromMs, toMs, metres })
    else drives.splice(-1, 1, { fromMs: last.fromMs, toMs, metres: last.metres + metres })
  }
  return drives.filter(({ fromMs, toMs, metres }) => toMs - fromMs >= 300_000 && metres >= 500).map((one) => one.metres)
}

/** Time from the middle of the barn to its edge. */
function edgeMs({ fromMs, toMs, from, to }: Leg): number {
  const far = distanceM(from, BARN) > distanceM(to, BARN) ? from : to
  const share = BARN_M / Math.max(Math.abs(far.x), Math.abs(far.y))
  return Math.round(share * (toMs - fromMs))
}

function* byDay(fromMs: number, toMs: number): Generator<{ date: string; fromMs: number; toMs: number }> {
  for (let atMs = fromMs; atMs < toMs; ) {
    const { date } = toLocal(atMs)
    const endMs = Math.min(toMs, localToMs(nextDay(date), 0))
    yield { date, fromMs: atMs, toMs: endMs }
    atMs = endMs
  }
}
