/**
 * Definition of trip and stop, with the names and meaning of the API (`configUsed`); numbers from 0, minima inclusive.
 */
export interface TripConfig {
  /** km/h; below this a device is stopped. At 0 every fix moves, and only gaps end trips. */
  speedThreshold: number
  /** Seconds from start to end, including pauses. */
  minimalTripDuration: number
  /** Metres. Also the distance from which two positions are different places, but at least `GPS_JITTER_M`. */
  minimalTripDistance: number
  /** Seconds of standing that end a trip and make a stop. */
  minimalParkingDuration: number
  /** Seconds; a longer time without data is a gap, which ends a trip and counts as standing. At 0, no trips. */
  minimalNoDataDuration: number
  /** km/h over the whole duration. */
  minimalAvgSpeed: number
  /**
   * m/s²; a fix that would need more is a spike. 0 disables the filter. Over an interval of t seconds it detects fixes
   * farther away than about `maxAcceleration * t²`: with 10, that is 10 m at 1 s and 1 km at 10 s.
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

export type TripConfigChoice = { [Name in keyof TripConfig]?: number | undefined }

/** Extracts the configuration from an object with more fields, such as a query; absent values come from `defaults`. */
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

/** Jitter of a receiver at rest, in metres: movement within this distance of the start of a rest does not count. */
export const GPS_JITTER_M = 30

/** Number of fixes for which a receiver may be wrong before its new position is accepted. */
export const SPIKE_FIXES_MAX = 3

/** Minimum step in ms: receivers use whole seconds, so no shorter step is assumed. */
export const SHORTEST_STEP_MS = 1000

/** Returns the distance, in metres, from which two positions are different places. */
export function samePlaceM({ minimalTripDistance }: TripConfig): number {
  return Math.max(minimalTripDistance, GPS_JITTER_M)
}

/** Returns the longest time without data that is not a gap, in whole milliseconds. */
export function longestStepMs({ minimalNoDataDuration }: TripConfig): number {
  return Math.floor(inThousandths(minimalNoDataDuration))
}

/** Returns the lowest stored speed, in 0.001 km/h, that counts as moving. */
export function slowestMoveMilliKmh({ speedThreshold }: TripConfig): number {
  return Math.ceil(inThousandths(speedThreshold))
}

// 1.001 * 1000 is 1000.9999999999999, so values with three decimals are rounded
function inThousandths(value: number): number {
  const nearest = Math.round(value * 1000)
  return nearest / 1000 === value ? nearest : value * 1000
}
