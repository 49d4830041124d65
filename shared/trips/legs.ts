import { fromMilli } from '#shared/geo.ts'
import { NO_SPEED } from '#shared/telemetry/records.ts'
import {
  GPS_JITTER_M,
  longestStepMs,
  SHORTEST_STEP_MS,
  samePlaceM,
  slowestMoveMilliKmh,
  type TripConfig,
} from './config.ts'
import { BOUND_M_PER_E7, EarthDistance, ROUNDING_MARGIN } from './earth-distance.ts'
import { indexFrom, type Spikes } from './spikes.ts'
import type { Track } from './track.ts'

const MILLI_KMH_PER_M_PER_MS = 3_600_000

/** Consecutive legs between two fixes, given by their indices; a leg is the path from one fix to the next. */
export interface Run {
  first: number
  last: number
  /** Metres driven; excludes legs between two stopped fixes, gaps and discontinuities. */
  distanceM: number
  /** 0.001 km/h; maximum of its moving fixes, including both ends. */
  maxSpeedMilliKmh: number
}

/** Standing in one place, or without data there. */
export interface Rest extends Run {
  /** True if it contains a time without data longer than `minimalNoDataDuration`. */
  hasGap: boolean
}

/** Receives the runs of a track in order; each begins where the previous one ends. */
export interface RunSink {
  onRest(rest: Rest): void
  onMove(move: Run): void
}

/** Last fix of a track without its spikes. */
export interface LastFix {
  index: number
  isMoving: boolean
  speedMilliKmh: number
}

/**
 * - start: nothing but the first fix has been seen.
 * - rest: standing.
 * - trial: moving since a rest, and so far no further from it than jitter.
 * - move: driving.
 */
type State = 'start' | 'rest' | 'trial' | 'move'

/**
 * Divides a track into rests and moves. A fix represents the time until the next one: a leg from a stopped fix is rest,
 * one from a moving fix is movement, and a time without data longer than `minimalNoDataDuration` is always rest. A move
 * that never leaves the surroundings of the previous rest is jitter and part of that rest. Returns the last fix;
 * undefined for an empty track.
 */
export function walkLegs(track: Track, spikes: Spikes, config: TripConfig, sink: RunSink): LastFix | undefined {
  return new LegWalk(track, spikes, config, sink).walk()
}

class LegWalk {
  readonly #track: Track
  readonly #dropped: readonly number[]
  readonly #discontinuities: readonly number[]
  readonly #sink: RunSink
  readonly #earth = new EarthDistance()
  readonly #longestStepMs: number
  readonly #samePlaceM: number
  readonly #slowestMoveMilliKmh: number
  readonly #speedThresholdKmh: number

  /** Positions in the two lists of spikes, both after the current fix. */
  #nextDropped = 0
  #nextDiscontinuity = 0

  #state: State = 'start'
  #speedMilliKmh = 0
  #isMoving = false
  #rest: Rest = newRest(0)
  /** Reference fix of the rest, from which jitter is measured: not always the start of `#rest`. */
  #anchor = 0
  #move: Run = newRun(0)

  constructor(track: Track, { dropped, discontinuities }: Spikes, config: TripConfig, sink: RunSink) {
    this.#track = track
    this.#dropped = dropped
    this.#discontinuities = discontinuities
    this.#sink = sink
    this.#longestStepMs = longestStepMs(config)
    this.#samePlaceM = samePlaceM(config)
    this.#slowestMoveMilliKmh = slowestMoveMilliKmh(config)
    this.#speedThresholdKmh = config.speedThreshold
  }

  walk(): LastFix | undefined {
    const { count } = this.#track
    let fix = this.#nextFix(-1)
    if (fix >= count) return undefined
    this.#passDropped(fix)
    this.#judgeSpeed(fix, 0)
    while (true) {
      if (this.#state === 'rest') fix = this.#skipStanding(fix)
      else if (this.#state === 'move') fix = this.#skipDriving(fix)
      const next = this.#nextFix(fix)
      if (next >= count) break
      this.#step(fix, next)
      fix = next
    }
    this.#finish()
    return { index: fix, isMoving: this.#isMoving, speedMilliKmh: this.#speedMilliKmh }
  }

  #step(fix: number, next: number): void {
    const isGap = this.#silenceMs(fix, next) > this.#longestStepMs
    const isMove = this.#isMoving && !isGap
    const isDiscontinuity = this.#discontinuities[this.#nextDiscontinuity] === next
    if (isDiscontinuity) this.#nextDiscontinuity++
    this.#passDropped(next)
    const legM = this.#metres(fix, next)
    const speedMilliKmh = this.#speedMilliKmh
    this.#judgeSpeed(next, isGap || isDiscontinuity ? 0 : this.#milliKmh(legM, fix, next))
    if (isMove) {
      this.#beMoving(fix)
      const { distanceM, maxSpeedMilliKmh } = this.#move
      this.#move.last = next
      this.#move.distanceM = isDiscontinuity ? distanceM : distanceM + legM
      this.#move.maxSpeedMilliKmh = Math.max(maxSpeedMilliKmh, speedMilliKmh, this.#speedMilliKmh)
      if (this.#state === 'trial' && (isDiscontinuity || this.#metres(this.#anchor, next) > GPS_JITTER_M)) {
        this.#leaveRest()
      }
      return
    }
    this.#beResting(fix)
    const rest = this.#rest
    rest.last = next
    rest.hasGap ||= isGap
    if (this.#isMoving && !isGap) {
      if (!isDiscontinuity) rest.distanceM += legM
      rest.maxSpeedMilliKmh = Math.max(rest.maxSpeedMilliKmh, this.#speedMilliKmh)
    }
    if (legM >= this.#samePlaceM) {
      this.#endRest()
      this.#rest = newRest(next)
      this.#anchor = next
    }
  }

  #finish(): void {
    if (this.#state === 'trial') {
      if (this.#isMoving) this.#leaveRest()
      else this.#rejoinRest()
    }
    if (this.#state === 'move') this.#sink.onMove(this.#move)
    else if (this.#state === 'rest') this.#endRest()
  }

  #beMoving(fix: number): void {
    if (this.#state === 'trial' || this.#state === 'move') return
    this.#move = newRun(fix)
    if (this.#state === 'start') this.#state = 'move'
    else if (this.#metres(this.#anchor, fix) > GPS_JITTER_M) this.#leaveRest()
    else this.#state = 'trial'
  }

  #beResting(fix: number): void {
    if (this.#state === 'rest') return
    if (this.#state === 'trial') {
      this.#rejoinRest()
      return
    }
    if (this.#state === 'move') this.#sink.onMove(this.#move)
    this.#rest = newRest(fix)
    this.#anchor = fix
    this.#state = 'rest'
  }

  #endRest(): void {
    if (this.#rest.last !== this.#rest.first) this.#sink.onRest(this.#rest)
  }

  /** Ends the rest: the device has driven off. */
  #leaveRest(): void {
    this.#endRest()
    this.#state = 'move'
  }

  /** Continues the rest with the same anchor: the movement was jitter. */
  #rejoinRest(): void {
    const move = this.#move
    // two fixes that jitter around one anchor may be farther apart than different places are
    if (this.#samePlaceM <= 2 * GPS_JITTER_M) this.#cutRest(move)
    this.#rest.last = move.last
    this.#rest.distanceM += move.distanceM
    this.#rest.maxSpeedMilliKmh = Math.max(this.#rest.maxSpeedMilliKmh, move.maxSpeedMilliKmh)
    this.#state = 'rest'
  }

  #cutRest({ first, last }: Run): void {
    let before = first
    let dropped = indexFrom(this.#dropped, first)
    for (let fix = first + 1; fix <= last; fix++) {
      if (this.#dropped[dropped] === fix) {
        dropped++
        continue
      }
      if (this.#metres(before, fix) >= this.#samePlaceM) {
        this.#rest.last = fix
        this.#endRest()
        this.#rest = newRest(fix)
      }
      before = fix
    }
  }

  /** Fast path from a stopped fix while nothing changes, without sums and distances. */
  #skipStanding(start: number): number {
    if (this.#isMoving) return start
    const { latE7, longE7, atMs, speedMilliKmh } = this.#track
    const end = this.#nextSpike()
    const slowest = this.#slowestMoveMilliKmh
    const longestMs = this.#longestStepMs
    const nearE7 = this.#samePlaceM / BOUND_M_PER_E7
    let lastMs = atMs[start] ?? 0
    let lat = latE7[start] ?? 0
    let long = longE7[start] ?? 0
    let next = start + 1
    for (; next < end; next++) {
      const nextMs = atMs[next] ?? 0
      const nextLat = latE7[next] ?? 0
      const nextLong = longE7[next] ?? 0
      const speed = speedMilliKmh[next] ?? NO_SPEED
      if (speed >= slowest || nextMs - lastMs > longestMs) break
      // `| 0` as in the search for spikes
      if (Math.abs((nextLat - lat) | 0) + Math.abs((nextLong - long) | 0) >= nearE7) break
      if (speed < 0 && !this.#isSurelyStanding(next, end)) break
      lastMs = nextMs
      lat = nextLat
      long = nextLong
    }
    const fix = next - 1
    if (fix > start) {
      this.#rest.last = fix
      this.#judgeSpeed(fix, 0)
    }
    return fix
  }

  /** True if a fix without a reported speed is followed by a leg that is clearly slow. */
  #isSurelyStanding(fix: number, end: number): boolean {
    const speedMilliKmh = this.#speedAhead(fix, end)
    return speedMilliKmh >= 0 && fromMilli(speedMilliKmh * ROUNDING_MARGIN) < this.#speedThresholdKmh
  }

  /** Speed over the following leg in 0.001 km/h; negative if it is not driven. */
  #speedAhead(fix: number, end: number): number {
    const next = fix + 1
    if (next >= end || this.#silenceMs(fix, next) > this.#longestStepMs) return NO_SPEED
    return this.#milliKmh(this.#metres(fix, next), fix, next)
  }

  /** Fast path from a moving fix while the device drives on. */
  #skipDriving(start: number): number {
    if (!this.#isMoving) return start
    const { latE7, longE7, atMs, speedMilliKmh } = this.#track
    const end = this.#nextSpike()
    const slowest = this.#slowestMoveMilliKmh
    const longestMs = this.#longestStepMs
    const earth = this.#earth
    let { distanceM, maxSpeedMilliKmh: fastest } = this.#move
    let lastMs = atMs[start] ?? 0
    let lat = latE7[start] ?? 0
    let long = longE7[start] ?? 0
    let next = start + 1
    for (; next < end; next++) {
      const nextMs = atMs[next] ?? 0
      let nextSpeed = speedMilliKmh[next] ?? NO_SPEED
      if (nextSpeed < 0) nextSpeed = this.#speedAhead(next, end)
      if (nextSpeed < slowest || nextSpeed < 0 || nextMs - lastMs > longestMs) break
      const nextLat = latE7[next] ?? 0
      const nextLong = longE7[next] ?? 0
      distanceM += earth.metres(lat, long, nextLat, nextLong)
      if (nextSpeed > fastest) fastest = nextSpeed
      lastMs = nextMs
      lat = nextLat
      long = nextLong
    }
    const fix = next - 1
    if (fix > start) {
      this.#move.last = fix
      this.#move.distanceM = distanceM
      this.#move.maxSpeedMilliKmh = fastest
      this.#judgeSpeed(fix, 0)
    }
    return fix
  }

  /** Returns the next fix that is dropped or follows a discontinuity. */
  #nextSpike(): number {
    const { count } = this.#track
    return Math.min(this.#dropped[this.#nextDropped] ?? count, this.#discontinuities[this.#nextDiscontinuity] ?? count)
  }

  /**
   * Determines the speed of a fix. An unreported one is the mean over the next leg, so that the parked fix before a
   * departure becomes its start and the fix of arrival its end; at a gap, discontinuity or end the last leg's.
   */
  #judgeSpeed(fix: number, legBeforeMilliKmh: number): void {
    const reported = this.#track.speedMilliKmh[fix] ?? NO_SPEED
    if (reported >= 0) {
      this.#speedMilliKmh = reported
      this.#isMoving = reported >= this.#slowestMoveMilliKmh
      return
    }
    const next = this.#nextFix(fix)
    const isDriven =
      next < this.#track.count &&
      this.#silenceMs(fix, next) <= this.#longestStepMs &&
      this.#discontinuities[this.#nextDiscontinuity] !== next
    this.#speedMilliKmh = isDriven ? this.#milliKmh(this.#metres(fix, next), fix, next) : legBeforeMilliKmh
    this.#isMoving = fromMilli(this.#speedMilliKmh) >= this.#speedThresholdKmh
  }

  #nextFix(fix: number): number {
    let next = fix + 1
    for (let dropped = this.#nextDropped; this.#dropped[dropped] === next; dropped++) next++
    return next
  }

  #passDropped(fix: number): void {
    while ((this.#dropped[this.#nextDropped] ?? fix) < fix) this.#nextDropped++
  }

  #silenceMs(fix: number, next: number): number {
    const { atMs } = this.#track
    return (atMs[next] ?? 0) - (atMs[fix] ?? 0)
  }

  #milliKmh(legM: number, fix: number, next: number): number {
    const stepMs = Math.max(this.#silenceMs(fix, next), SHORTEST_STEP_MS)
    return (legM / stepMs) * MILLI_KMH_PER_M_PER_MS
  }

  #metres(from: number, to: number): number {
    const { latE7, longE7 } = this.#track
    return this.#earth.metres(latE7[from] ?? 0, longE7[from] ?? 0, latE7[to] ?? 0, longE7[to] ?? 0)
  }
}

function newRun(fix: number): Run {
  return { first: fix, last: fix, distanceM: 0, maxSpeedMilliKmh: 0 }
}

function newRest(fix: number): Rest {
  return { ...newRun(fix), hasGap: false }
}
