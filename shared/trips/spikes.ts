import { NO_SPEED } from '#shared/telemetry/records.ts'
import { longestStepMs, SHORTEST_STEP_MS, SPIKE_FIXES_MAX, type TripConfig } from './config.ts'
import { BOUND_M_PER_E7, EarthDistance, ROUNDING_MARGIN } from './earth-distance.ts'
import type { Track } from './track.ts'

/** Faults of a track, as ascending indices of its fixes. */
export interface Spikes {
  /** Fixes that are wrong. */
  dropped: readonly number[]
  /** Fixes that cannot have been reached by driving from the previous one, although both are accepted. */
  discontinuities: readonly number[]
}

const MILLI_KMH_PER_MPS = 3600

/**
 * Finds the fixes that would have needed more than `maxAcceleration`. A fix is a spike only if the track returns: so a
 * wrong fix cannot invalidate later ones, a device that was carried elsewhere is accepted, and a hard stop is not a
 * spike. A wrong first or last fix has no track to return to, and is dropped if it cannot be reached.
 */
export function findSpikes(track: Track, config: TripConfig): Spikes {
  if (config.maxAcceleration === 0 || track.count < 2) return { dropped: [], discontinuities: [] }
  const filter = new SpikeFilter(track, config)
  filter.scan()
  filter.dropLooseEnds()
  return filter
}

/** Number of dropped fixes between two fixes. */
export function countDropped({ dropped }: Spikes, first: number, last: number): number {
  return indexFrom(dropped, last) - indexFrom(dropped, first)
}

/** Returns the position of the first number in an ascending list that is at least `least`. */
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
  /** Fixes immediately before and after the dropped ones. */
  before: number
  after: number
  isNew: boolean
}

/** Steps across dropped fixes; new are those across a loose end. */
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
  /** Last accepted fix; the speed of the step into it is computed on demand. */
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
   * Drops fixes that are separated from the track by a discontinuity on one side and by a discontinuity, a gap or the
   * end of the data on the other; then evaluates the resulting steps.
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
      // if the previous step ends in a discontinuity as well, its last fix is the one before this discontinuity
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
   * Fast path while each fix is plausible after the previous one. A distance that is plausible in the shortest step is
   * plausible in any, so times are only read for longer ones. `| 0` keeps the sums integers: half the circumference of
   * the Earth fits into 32 bits, so an overflowing value is still far away.
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
      const isSteady =
        Math.abs((nextLat - lat) | 0) + Math.abs((nextLong - long) | 0) <= alwaysE7 &&
        Math.abs((nextSpeed - speed) | 0) <= alwaysMilliKmh
      if (!isSteady && !this.#isSurelyPlausible(next - 1, next)) break
      lat = nextLat
      long = nextLong
      speed = nextSpeed
    }
    if (next - 1 === start) return
    this.#last = next - 1
    this.#beforeLast = next - 2
  }

  /** Like `#isPlausible`, but false near a limit, and without the speed of a fix that reported none. */
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
   * True if a device can have been at `from`, with this speed in m/s, and then at `to`. Only acceleration over a
   * distance is evaluated: a device that stays in place did nothing impossible, whatever its speed was.
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
   * Returns the first of the next few fixes that is plausible after the last accepted one but not after its direct
   * predecessor: there the track has returned from a wrong position.
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

  /** m/s, as reported or else over the accepted step into the fix; unknown after a discontinuity. */
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
