import { NO_SPEED } from '#shared/telemetry/records.ts'
import { longestStepMs, SHORTEST_STEP_MS, SPIKE_FIXES_MAX, type TripConfig } from './config.ts'
import { BOUND_M_PER_E7, EarthDistance, ROUNDING_MARGIN } from './earth-distance.ts'
import type { Track } from './track.ts'

/** What is wrong with a track, as ascending indices of its fixes. */
export interface Spikes {
  /** Fixes nobody was at. */
  dropped: readonly number[]
  /** Fixes whose step from the fix before cannot have been driven, though both are believed. */
  discontinuities: readonly number[]
}

const MILLI_KMH_PER_MPS = 3600

/**
 * Finds the fixes that would have needed more than `maxAcceleration`. A fix is a spike only if the track comes back: so
 * a bad fix cannot shut out what follows it, a device that was carried elsewhere is believed, and a hard stop is no
 * spike. A bad first or last fix has nothing to come back to and goes when there is no way to or from it.
 */
export function findSpikes(track: Track, config: TripConfig): Spikes {
  if (config.maxAcceleration === 0 || track.count < 2) return { dropped: [], discontinuities: [] }
  const filter = new SpikeFilter(track, config)
  filter.scan()
  filter.dropLooseEnds()
  return filter
}

/** How many of the dropped fixes lie between two fixes. */
export function countDropped({ dropped }: Spikes, first: number, last: number): number {
  return indexFrom(dropped, last) - indexFrom(dropped, first)
}

/** Where the first number of an ascending list stands that is `least` or more. */
export function indexFrom(ascending: readonly number[], least: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ascending[middle] ?? least) < least) low = middle + 1
    else high = middle
  }
  return low
}

interface Step {
  /** The fixes right before and after what was dropped. */
  before: number
  after: number
  isNew: boolean
}

/** The steps over runs of dropped fixes; new ones are those over a loose end. */
function* stepsOver(dropped: readonly number[], loose: ReadonlySet<number>): Generator<Step> {
  let step: Step | undefined
  for (const fix of dropped) {
    if (step?.after !== fix) {
      if (step !== undefined) yield step
      step = { before: fix - 1, after: fix, isNew: false }
    }
    step.after = fix + 1
    step.isNew ||= loose.has(fix)
  }
  if (step !== undefined) yield step
}

class SpikeFilter {
  dropped: number[] = []
  discontinuities: number[] = []
  readonly #track: Track
  readonly #maxAcceleration: number
  readonly #longestStepMs: number
  readonly #earth = new EarthDistance()
  /** The last accepted fix, and the speed of the step into it: worked out only when somebody asks. */
  #last = 0
  #beforeLast = -1

  constructor(track: Track, config: TripConfig) {
    this.#track = track
    this.#maxAcceleration = config.maxAcceleration
    this.#longestStepMs = longestStepMs(config)
  }

  scan(): void {
    const { count } = this.#track
    while (true) {
      this.#skipPlausible()
      const next = this.#last + 1
      if (next >= count) return
      const speedMps = this.#lastSpeedMps()
      if (this.#isPlausible(this.#last, speedMps, next)) {
        this.#accept(next)
        continue
      }
      const back = this.#comesBackAt(next, speedMps)
      if (back === undefined) {
        this.#accept(next)
        this.#beforeLast = -1
        this.discontinuities.push(next)
        continue
      }
      for (let fix = next; fix < back; fix++) this.dropped.push(fix)
      this.#accept(back)
    }
  }

  /**
   * Drops what a discontinuity parts from the track on one side, and a discontinuity, a gap or the end of the data on
   * the other; then judges the steps that have come about.
   */
  dropLooseEnds(): void {
    const loose = new Set(this.#looseEnds())
    if (loose.size === 0) return
    const staying = this.discontinuities.filter((fix) => !loose.has(fix) && !loose.has(fix - 1))
    this.dropped = [...this.dropped, ...loose].sort((a, b) => a - b)
    this.discontinuities = []
    let stayed = 0
    let previous = { before: -1, after: 0 }
    for (const { before, after, isNew } of stepsOver(this.dropped, loose)) {
      for (let fix = staying[stayed]; fix !== undefined && fix < after; fix = staying[++stayed]) {
        this.discontinuities.push(fix)
      }
      this.#last = before
      this.#beforeLast = before === previous.after ? previous.before : before - 1
      if (this.discontinuities.at(-1) === before) this.#beforeLast = -1
      previous = { before, after }
      if (!isNew || before < 0 || after >= this.#track.count) continue
      if (!this.#isPlausible(before, this.#lastSpeedMps(), after)) this.discontinuities.push(after)
    }
    this.discontinuities.push(...staying.slice(stayed))
  }

  #looseEnds(): number[] {
    const loose: number[] = []
    const dropped = new Set(this.dropped)
    const cuts = this.discontinuities
    for (const [i, cut] of cuts.entries()) {
      let before = cut - 2
      while (dropped.has(before)) before--
      // the fix before a discontinuity is the last of the step before, when that is one as well
      const isJudged = cuts[i - 1] === cut - 1
      if (!isJudged && this.#isEndOrGap(before, cut - 1)) loose.push(cut - 1)
      let after = cut + 1
      while (dropped.has(after)) after++
      if (cuts[i + 1] === cut + 1 || this.#isEndOrGap(cut, after)) loose.push(cut)
    }
    return loose
  }

  #accept(fix: number): void {
    this.#beforeLast = this.#last
    this.#last = fix
  }

  /**
   * Goes on while each fix is plausible after the one before it. What would do in the shortest step does in any, so the
   * time is not even looked at while a device does no more than that. `| 0` keeps the sums integers: half way around
   * the Earth is less than 32 bits, so what is cut off is far away still.
   */
  #skipPlausible(): void {
    const { latE7, longE7, speedMilliKmh, count } = this.#track
    const start = this.#last
    const shortestS = SHORTEST_STEP_MS / 1000
    const alwaysE7 = (this.#maxAcceleration * shortestS * shortestS) / BOUND_M_PER_E7
    const alwaysMilliKmh = (this.#maxAcceleration * shortestS * MILLI_KMH_PER_MPS) / ROUNDING_MARGIN
    let lat = latE7[start] ?? 0
    let long = longE7[start] ?? 0
    let speed = speedMilliKmh[start] ?? NO_SPEED
    let next = start + 1
    for (; next < count; next++) {
      const nextLat = latE7[next] ?? 0
      const nextLong = longE7[next] ?? 0
      const nextSpeed = speedMilliKmh[next] ?? NO_SPEED
      const isCalm =
        Math.abs((nextLat - lat) | 0) + Math.abs((nextLong - long) | 0) <= alwaysE7 &&
        Math.abs((nextSpeed - speed) | 0) <= alwaysMilliKmh
      if (!isCalm && !this.#isSurelyPlausible(next - 1, next)) break
      lat = nextLat
      long = nextLong
      speed = nextSpeed
    }
    if (next - 1 === start) return
    this.#last = next - 1
    this.#beforeLast = next - 2
  }

  /** As `#isPlausible`, but false for what is near a limit, and without the speed of a fix that reported none. */
  #isSurelyPlausible(from: number, to: number): boolean {
    const { atMs, latE7, longE7, speedMilliKmh } = this.#track
    const dtMs = (atMs[to] ?? 0) - (atMs[from] ?? 0)
    if (dtMs > this.#longestStepMs) return true
    const stepS = (dtMs > SHORTEST_STEP_MS ? dtMs : SHORTEST_STEP_MS) * 0.001
    const speed = speedMilliKmh[from] ?? NO_SPEED
    const nextSpeed = speedMilliKmh[to] ?? NO_SPEED
    const change = speed >= 0 && nextSpeed >= 0 ? Math.abs(nextSpeed - speed) : 0
    if (change * ROUNDING_MARGIN > this.#maxAcceleration * MILLI_KMH_PER_MPS * stepS) return false
    const speedMps = speed > 0 ? speed * (1 / MILLI_KMH_PER_MPS) : 0
    const farthestM = (this.#maxAcceleration * stepS + speedMps) * stepS
    const offE7 = Math.abs((latE7[to] ?? 0) - (latE7[from] ?? 0)) + Math.abs((longE7[to] ?? 0) - (longE7[from] ?? 0))
    return offE7 * BOUND_M_PER_E7 <= farthestM || this.#metres(from, to) * ROUNDING_MARGIN <= farthestM
  }

  /**
   * Whether a device can have been at `from`, with this speed in m/s, and then at `to`. Only getting faster by way is
   * judged: a device that stays where it is did nothing impossible, whatever its speed was.
   */
  #isPlausible(from: number, speedMps: number, to: number): boolean {
    const { atMs, speedMilliKmh } = this.#track
    const dtMs = (atMs[to] ?? 0) - (atMs[from] ?? 0)
    if (dtMs > this.#longestStepMs) return true
    const stepMs = Math.max(dtMs, SHORTEST_STEP_MS)
    const reported = speedMilliKmh[from] ?? 0
    const reportedNext = speedMilliKmh[to] ?? 0
    if (reported >= 0 && reportedNext >= 0) {
      const change = Math.abs(reportedNext - reported)
      if (change * 1000 > this.#maxAcceleration * (MILLI_KMH_PER_MPS * stepMs)) return false
    }
    const stepS = stepMs / 1000
    return (this.#metres(from, to) / stepS - speedMps) / stepS <= this.#maxAcceleration
  }

  /**
   * The first of the next few fixes that fits the last accepted one and not the fix right before it: there the track is
   * back from where it was not.
   */
  #comesBackAt(next: number, speedMps: number): number | undefined {
    const { count, speedMilliKmh } = this.#track
    for (let back = next + 1; back <= next + SPIKE_FIXES_MAX && back < count; back++) {
      if (!this.#isPlausible(this.#last, speedMps, back)) continue
      const reported = speedMilliKmh[back - 1] ?? 0
      const speedBeforeMps = reported >= 0 ? reported / MILLI_KMH_PER_MPS : speedMps
      if (!this.#isPlausible(back - 1, speedBeforeMps, back)) return back
    }
    return undefined
  }

  /** m/s, as reported or else over the accepted step into the fix; a discontinuity gives none. */
  #lastSpeedMps(): number {
    const { atMs, speedMilliKmh } = this.#track
    const reported = speedMilliKmh[this.#last] ?? 0
    if (reported >= 0) return reported / MILLI_KMH_PER_MPS
    if (this.#beforeLast < 0) return 0
    const dtMs = (atMs[this.#last] ?? 0) - (atMs[this.#beforeLast] ?? 0)
    return this.#metres(this.#beforeLast, this.#last) / (Math.max(dtMs, SHORTEST_STEP_MS) / 1000)
  }

  #metres(from: number, to: number): number {
    const { latE7, longE7 } = this.#track
    return this.#earth.metres(latE7[from] ?? 0, longE7[from] ?? 0, latE7[to] ?? 0, longE7[to] ?? 0)
  }

  #isEndOrGap(from: number, to: number): boolean {
    const { atMs, count } = this.#track
    return from < 0 || to >= count || (atMs[to] ?? 0) - (atMs[from] ?? 0) > this.#longestStepMs
  }
}
