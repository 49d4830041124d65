import { samePlaceM, type TripConfig } from './config.ts'
import { haversineM } from './earth-distance.ts'
import { avgSpeedKmh, durationS } from './figures.ts'
import type { Rest, Run, RunSink } from './legs.ts'
import type { Track } from './track.ts'

/** Stop as the indices of its first and last fix. */
interface StopFixes {
  first: number
  last: number
}

interface OpenStop extends StopFixes {
  hasGap: boolean
}

/**
 * Combines consecutive rests into stops: rests in one place are one stop, and movement between them without a trip
 * belongs to it. A stop is reported if long enough or with a gap; a shorter one still separates those before and after.
 */
class Stops {
  readonly reported: StopFixes[] = []
  readonly #track: Track
  readonly #samePlaceM: number
  readonly #minimalParkingDuration: number
  #open: OpenStop | undefined

  constructor(track: Track, config: TripConfig) {
    this.#track = track
    this.#samePlaceM = samePlaceM(config)
    this.#minimalParkingDuration = config.minimalParkingDuration
  }

  add(first: number, last: number, hasGap: boolean): void {
    if (this.#open === undefined || !this.#isSamePlace(this.#open.first, first)) {
      this.close()
      this.#open = { first, last, hasGap }
      return
    }
    this.#open.last = last
    this.#open.hasGap ||= hasGap
  }

  /** Completes the last stop: a trip was recorded, or the data ends. */
  close(): void {
    if (this.#open !== undefined) {
      const { first, last, hasGap } = this.#open
      if (hasGap || durationS(this.#track, first, last) >= this.#minimalParkingDuration) {
        this.reported.push({ first, last })
      }
    }
    this.#open = undefined
  }

  #isSamePlace(from: number, to: number): boolean {
    const { latE7, longE7 } = this.#track
    const apartM = haversineM(latE7[from] ?? 0, longE7[from] ?? 0, latE7[to] ?? 0, longE7[to] ?? 0)
    return apartM < this.#samePlaceM
  }
}

/** Error for a track with more trips and stops than the caller can handle. */
export class TooManyTripsError extends Error {}

/** Movement since the last confirmed rest. */
interface Drive extends Run {
  /** First and last fix of each rest since its start: pauses; those after the last move may still become a stop. */
  rests: number[]
  /** Number of entries of `rests` before the last move. */
  insideCount: number
  /** Contribution of the rests after the last move if the drive continues. */
  trailing: Driven
}

type Driven = Pick<Run, 'distanceM' | 'maxSpeedMilliKmh'>

const NOTHING: Driven = { distanceM: 0, maxSpeedMilliKmh: 0 }

function sum(a: Driven, b: Driven): Driven {
  return {
    distanceM: a.distanceM + b.distanceM,
    maxSpeedMilliKmh: Math.max(a.maxSpeedMilliKmh, b.maxSpeedMilliKmh),
  }
}

/**
 * Combines rests and moves into trips and stops. A rest is confirmed if it is long enough or contains a gap, and only
 * that ends a trip: at the first fix of the rest, not at its confirmation, so that the result stays the same while a
 * pause becomes a stop. Shorter rests are pauses of the trip, or part of a stop if the movement is not a trip.
 */
export class TripFinder implements RunSink {
  readonly #trips: Run[] = []
  readonly #stops: Stops
  readonly #track: Track
  readonly #config: TripConfig
  readonly #foundMax: number
  #drive: Drive | undefined
  #lastRest: Rest | undefined
  #hasMoved = false

  /** All methods throw `TooManyTripsError` after more than `foundMax` results. */
  constructor(track: Track, config: TripConfig, foundMax = Number.POSITIVE_INFINITY) {
    this.#track = track
    this.#config = config
    this.#foundMax = foundMax
    this.#stops = new Stops(track, config)
  }

  onRest(rest: Rest): void {
    this.#lastRest = rest
    this.#checkFound()
    const { first, last, hasGap } = rest
    const { minimalParkingDuration } = this.#config
    if (hasGap || durationS(this.#track, first, last) >= minimalParkingDuration) this.#endDrive()
    if (this.#drive === undefined) {
      this.#stops.add(first, last, hasGap)
      return
    }
    this.#drive.rests.push(first, last)
    this.#drive.trailing = sum(this.#drive.trailing, rest)
  }

  onMove(move: Run): void {
    this.#hasMoved = true
    if (this.#drive === undefined) {
      this.#drive = { ...move, rests: [], insideCount: 0, trailing: NOTHING }
      return
    }
    Object.assign(this.#drive, sum(sum(this.#drive, this.#drive.trailing), move))
    this.#drive.last = move.last
    this.#drive.insideCount = this.#drive.rests.length
    this.#drive.trailing = NOTHING
  }

  /** Returns the trips, and the stops as first and last fix; the data ends at `lastFix`. */
  end(lastFix: { index: number; isMoving: boolean }) {
    this.#endDrive()
    // a device that has just come to rest may be at its previous stop
    if (this.#hasMoved && !lastFix.isMoving && this.#lastRest?.last !== lastFix.index) {
      this.#stops.add(lastFix.index, lastFix.index, false)
    }
    this.#stops.close()
    this.#checkFound()
    return { trips: this.#trips, stops: this.#stops.reported }
  }

  /** Returns the movement from the first move after the last confirmed rest up to `lastFix`, including pauses. */
  openDrive(lastFix: number): Run | undefined {
    if (this.#drive === undefined) return undefined
    return { first: this.#drive.first, last: lastFix, ...sum(this.#drive, this.#drive.trailing) }
  }

  /** Returns the first fix of the rest that ends at `lastFix`. */
  restFirst(lastFix: number): number {
    return this.#lastRest?.last === lastFix ? this.#lastRest.first : lastFix
  }

  #endDrive(): void {
    const drive = this.#drive
    if (drive === undefined) return
    this.#drive = undefined
    const { first, last, distanceM, maxSpeedMilliKmh, rests, insideCount } = drive
    const isTrip = this.#isTrip(drive)
    if (isTrip) {
      this.#stops.close()
      this.#trips.push({ first, last, distanceM, maxSpeedMilliKmh })
    }
    for (let i = isTrip ? insideCount : 0; i < rests.length; i += 2) {
      this.#stops.add(rests[i] ?? first, rests[i + 1] ?? last, false)
    }
  }

  #checkFound(): void {
    const found = this.#trips.length + this.#stops.reported.length
    if (found > this.#foundMax) throw new TooManyTripsError(`more than ${this.#foundMax} trips and stops`)
  }

  #isTrip({ first, last, distanceM }: Run): boolean {
    const { minimalTripDuration, minimalTripDistance, minimalAvgSpeed } = this.#config
    const elapsedS = durationS(this.#track, first, last)
    return (
      elapsedS >= minimalTripDuration &&
      distanceM >= minimalTripDistance &&
      avgSpeedKmh(distanceM, elapsedS) >= minimalAvgSpeed
    )
  }
}
