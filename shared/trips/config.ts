/**
 * What counts as a trip and a stop. Names and meaning are the API's (`configUsed`); all are numbers from 0.
 * Every minimum is reached by being equal to it.
 */
export interface TripConfig {
  /** km/h; below this a device is stopped. At 0 every fix moves, and only gaps end trips. */
  speedThreshold: number
  /** Seconds from start to end, pauses included. */
  minimalTripDuration: number
  /** Metres. Also how far apart two positions are different places, but at least `JITTER_M`. */
  minimalTripDistance: number
  /** Seconds of standing that end a trip and make a stop. */
  minimalParkingDuration: number
  /** Seconds; a longer silence is a gap, which ends a trip and counts as standing. At 0 there are no trips. */
  minimalNoDataDuration: number
  /** km/h over the whole duration. */
  minimalAvgSpeed: number
  /**
   * m/s²; a fix that would need more is a spike. 0 turns the filter off. Over an interval of t seconds it sees what is
   * further away than about `maxAcceleration * t²`: with 10, that is 10 m at 1 s and 1 km at 10 s.
   */
  maxAcceleration: number
}

export const DEFAULT_TRIP_CONFIG: Readonly<TripConfig> = {
  speedThreshold: 3,
  minimalTripDuration: 300,
  minimalTripDistance: 500,
  minimalParkingDuration: 180,
  minimalNoDataDuration: 1800,
  minimalAvgSpeed: 1,
  maxAcceleration: 10,
}

/** What somebody has chosen of it. */
export type TripConfigChoice = { [Name in keyof TripConfig]?: number | undefined }

/** Only the configuration of what carries more: a query; what it leaves out is as in `defaults`. */
export function tripConfigOf(from: TripConfigChoice, defaults: Readonly<TripConfig> = DEFAULT_TRIP_CONFIG): TripConfig {
  return {
    speedThreshold: from.speedThreshold ?? defaults.speedThreshold,
    minimalTripDuration: from.minimalTripDuration ?? defaults.minimalTripDuration,
    minimalTripDistance: from.minimalTripDistance ?? defaults.minimalTripDistance,
    minimalParkingDuration: from.minimalParkingDuration ?? defaults.minimalParkingDuration,
    minimalNoDataDuration: from.minimalNoDataDuration ?? defaults.minimalNoDataDuration,
    minimalAvgSpeed: from.minimalAvgSpeed ?? defaults.minimalAvgSpeed,
    maxAcceleration: from.maxAcceleration ?? defaults.maxAcceleration,
  }
}

/** How far a receiver at rest wanders, in metres: movement that stays this near to where a rest began is none. */
export const GPS_JITTER_M = 30

/** Fixes a receiver may be wrong for before it is believed to be elsewhere. */
export const SPIKE_FIXES_MAX = 3

/** Receivers stamp whole seconds: nothing is taken to have happened in less, in milliseconds. */
export const SHORTEST_STEP_MS = 1000

/** The distance, in metres, from which two positions are different places. */
export function samePlaceM({ minimalTripDistance }: TripConfig): number {
  return Math.max(minimalTripDistance, GPS_JITTER_M)
}

/** The longest silence that is no gap, in whole milliseconds. */
export function longestStepMs({ minimalNoDataDuration }: TripConfig): number {
  return Math.floor(inThousandths(minimalNoDataDuration))
}

/** The slowest stored speed, in 0.001 km/h, that counts as moving. */
export function slowestMoveMilliKmh({ speedThreshold }: TripConfig): number {
  return Math.ceil(inThousandths(speedThreshold))
}

// 1.001 * 1000 is 1000.9999999999999, so what was written with three decimals is taken as such
function inThousandths(value: number): number {
  const nearest = Math.round(value * 1000)
  return nearest / 1000 === value ? nearest : value * 1000
}
