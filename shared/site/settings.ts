import { DEFAULT_TRIP_CONFIG, type TripConfig } from '#shared/trips/config.ts'
import type { Units } from '#shared/units.ts'

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** Minutes since local midnight, 0 to 1,440; closing is after opening. */
export interface OpenHours {
  opensMinute: number
  closesMinute: number
}

/** Null for a day that is closed. */
export type OpeningHours = Record<Weekday, OpenHours | null>

/** Rest voltages of a pack; null where nobody has said them. */
export interface PackVoltages {
  emptyV: number | null
  fullV: number | null
  lowV: number | null
}

/** The speed up to which a cart is locked may be set to so much. */
export const LOCK_SPEED_KMH = { least: 1, most: 50 }

/** What people say of their course, and by which the rules of carts go. */
export interface SiteSettings {
  name: string
  /** IANA. */
  timeZone: string
  units: Units
  language: 'en' | 'de'
  /** Null while none are known: nothing closes, and nothing is after hours. */
  openingHours: OpeningHours | null
  pack: PackVoltages
  silentAfterS: number
  silentOnCourseAfterS: number
  /** So long before opening a cart that does not charge is told. */
  chargeCheckH: number
  /** 0 for never. */
  autoLockAfterMin: number
  lockAtClosing: boolean
  minutesPerHole: number
  zoneStayS: number
  restAfterS: number
  lockMaxSpeedKmh: number
  lockLocateAfterS: number
  /** Defaults of trips that are other than those of the API. */
  trips: Partial<TripConfig>
}

export const DEFAULT_SITE_SETTINGS: Readonly<SiteSettings> = {
  name: '',
  timeZone: 'UTC',
  units: 'metric',
  language: 'en',
  openingHours: null,
  pack: { emptyV: null, fullV: null, lowV: null },
  silentAfterS: 180,
  silentOnCourseAfterS: 900,
  chargeCheckH: 3,
  autoLockAfterMin: 0,
  lockAtClosing: false,
  minutesPerHole: 15,
  zoneStayS: 60,
  restAfterS: 300,
  lockMaxSpeedKmh: 6,
  lockLocateAfterS: 60,
  trips: {},
}

/** What trips are looked for with where a request says nothing else. */
export function tripDefaultsOf({ trips }: SiteSettings): TripConfig {
  return { ...DEFAULT_TRIP_CONFIG, ...trips }
}
