import { DEFAULT_TRIP_CONFIG, type TripConfig } from '#shared/trips/config.ts'
import type { Units } from '#shared/units.ts'

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** Minutes since local midnight, 0 to 1,440; closing is after opening. */
export interface OpenHours {
  opensMinute: number
  closesMinute: number
}

/** Null for a closed day. */
export type OpeningHours = Record<Weekday, OpenHours | null>

/** Rest voltages of a battery; null if not configured. */
export interface PackVoltages {
  emptyV: number | null
  fullV: number | null
  lowV: number | null
}

/** Kinds of vehicles other than golf carts. */
export const SERVICE_KINDS = ['ranger', 'food_and_beverage', 'greenkeeping'] as const
export const CART_KINDS = ['golf_cart', ...SERVICE_KINDS] as const
export type CartKind = (typeof CART_KINDS)[number]
type ServiceKind = (typeof SERVICE_KINDS)[number]

export function ofServiceKinds<Value>(of: (kind: ServiceKind) => Value): Record<ServiceKind, Value> {
  return {
    ranger: of('ranger'),
    food_and_beverage: of('food_and_beverage'),
    greenkeeping: of('greenkeeping'),
  }
}

/** Automatic actions on vehicles of a kind. */
export interface KindRules {
  autoLock: boolean
  lockAtClosing: boolean
  /** Alert kinds that open. */
  alerts: readonly string[]
}

/** Permitted range of the maximum speed at which a cart may be locked. */
export const LOCK_SPEED_KMH = { least: 1, most: 50 }

/** Maximum number of ready texts for messages to carts. */
export const READY_TEXTS_MAX = 20

/** Settings of a course, on which the cart rules depend. */
export interface SiteSettings {
  name: string
  /** IANA name. */
  timeZone: string
  units: Units
  language: 'en' | 'de'
  /** Position of the course until its zones, map or carts show it; null if unknown. */
  location: { lat: number; long: number } | null
  /** Null while unknown: the course does not close, and nothing counts as after hours. */
  openingHours: OpeningHours | null
  pack: PackVoltages
  silentAfterS: number
  silentOnCourseAfterS: number
  /** Hours before opening at which carts that do not charge raise an alert. */
  chargeCheckH: number
  /** 0 means never. */
  autoLockAfterMin: number
  lockAtClosing: boolean
  minutesPerHole: number
  teeIntervalMin: number
  /** Delay from which a party is late. */
  delayFromMin: number
  /** 0 means never. */
  roundTimeoutMin: number
  roundTimeoutLock: boolean
  zoneStayS: number
  restAfterS: number
  lockMaxSpeedKmh: number
  lockLocateAfterS: number
  /** Days after which names and texts of golfers are deleted. */
  namesKeptDays: number
  returnAfterMin: number
  /** Minutes after which an unacknowledged call is escalated. */
  callEscalateMin: number
  vehicleKinds: Record<ServiceKind, KindRules>
  /** Trip defaults that differ from those of the API. */
  trips: Partial<TripConfig>
  /** True once an admin has hidden the checklist of the set-up. */
  isChecklistHidden: boolean
}

const DEFAULT_KIND_RULES: KindRules = {
  autoLock: false,
  lockAtClosing: false,
  alerts: ['low_battery', 'call', 'service_due'],
}

export const DEFAULT_SITE_SETTINGS: Readonly<SiteSettings> = {
  name: '',
  timeZone: 'UTC',
  units: 'metric',
  language: 'en',
  location: null,
  openingHours: null,
  pack: { emptyV: null, fullV: null, lowV: null },
  silentAfterS: 180,
  silentOnCourseAfterS: 900,
  chargeCheckH: 3,
  autoLockAfterMin: 0,
  lockAtClosing: false,
  minutesPerHole: 15,
  teeIntervalMin: 10,
  delayFromMin: 5,
  roundTimeoutMin: 0,
  roundTimeoutLock: false,
  zoneStayS: 60,
  restAfterS: 300,
  lockMaxSpeedKmh: 6,
  lockLocateAfterS: 60,
  namesKeptDays: 7,
  returnAfterMin: 2,
  callEscalateMin: 3,
  vehicleKinds: ofServiceKinds(() => DEFAULT_KIND_RULES),
  trips: {},
  isChecklistHidden: false,
}

/** Default trip configuration of requests. */
export function tripDefaultsOf({ trips }: SiteSettings): TripConfig {
  return { ...DEFAULT_TRIP_CONFIG, ...trips }
}

/** Rules for a kind; golf carts follow the settings of the site and open all alerts (null). */
export function kindRulesOf(
  { vehicleKinds, lockAtClosing }: Pick<SiteSettings, 'vehicleKinds' | 'lockAtClosing'>,
  kind: CartKind,
): Omit<KindRules, 'alerts'> & { alerts: KindRules['alerts'] | null } {
  return kind === 'golf_cart' ? { autoLock: true, lockAtClosing, alerts: null } : vehicleKinds[kind]
}
