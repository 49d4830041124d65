import { samePlaceM, type TripConfig } from './config.ts'
import { haversineM } from './earth-distance.ts'
import { durationS } from './figures.ts'
import type { Track } from './track.ts'

/** A stop as the indices of its first and last fix. */
export interface StopFixes {
  first: number
  last: number
}

interface OpenStop extends StopFixes {
  hasGap: boolean
}

/**
 * Makes stops of rests that come in order: rests in the same place are one stop, and movement between them that was no
 * trip is part of it. A stop is reported when it lasts or holds a gap; a shorter one still parts its neighbours.
 */
export class Stops {
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

  /** Nothing that comes belongs to the last stop any more: a trip was recorded, or the data ends. */
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
