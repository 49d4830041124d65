import { readOpenHours } from '#shared/site/opening-hours.ts'
import {
  DEFAULT_SITE_SETTINGS,
  type OpenHours,
  type OpeningHours,
  ofServiceKinds,
  type PackVoltages,
  type SiteSettings,
  type Weekday,
} from '#shared/site/settings.ts'
import type { SiteForScreensJson, SiteSettingsJson, SiteSettingsPatch } from './site.ts'

export function toSiteSettingsJson(settings: SiteSettings): SiteSettingsJson {
  return {
    name: settings.name,
    time_zone: settings.timeZone,
    units: settings.units,
    language: settings.language,
    location: settings.location,
    opening_hours: toOpeningHoursJson(settings.openingHours),
    pack: { empty_v: settings.pack.emptyV, full_v: settings.pack.fullV, low_v: settings.pack.lowV },
    silent_after_s: settings.silentAfterS,
    silent_on_course_after_s: settings.silentOnCourseAfterS,
    charge_check_h: settings.chargeCheckH,
    auto_lock_after_min: settings.autoLockAfterMin,
    lock_at_closing: settings.lockAtClosing,
    minutes_per_hole: settings.minutesPerHole,
    tee_interval_min: settings.teeIntervalMin,
    delay_from_min: settings.delayFromMin,
    round_timeout_min: settings.roundTimeoutMin,
    round_timeout_lock: settings.roundTimeoutLock,
    zone_stay_s: settings.zoneStayS,
    rest_after_s: settings.restAfterS,
    lock_max_speed_kmh: settings.lockMaxSpeedKmh,
    lock_locate_after_s: settings.lockLocateAfterS,
    names_kept_days: settings.namesKeptDays,
    return_after_min: settings.returnAfterMin,
    call_escalate_min: settings.callEscalateMin,
    vehicle_kinds: ofServiceKinds((kind) => {
      const { autoLock, lockAtClosing, alerts } = settings.vehicleKinds[kind]
      return { auto_lock: autoLock, lock_at_closing: lockAtClosing, alerts: [...alerts] }
    }),
    trips: settings.trips,
    hide_checklist: settings.isChecklistHidden,
  }
}

export function toSiteForScreensJson(settings: SiteSettings): SiteForScreensJson {
  const { name, timeZone, units, language } = settings
  return { name, time_zone: timeZone, units, language }
}

/** Applies a patch to settings, or all fields of stored ones; null restores the default. */
export function patchSiteSettings(settings: SiteSettings, patch: SiteSettingsPatch): SiteSettings {
  const preset = DEFAULT_SITE_SETTINGS
  return {
    name: merged(patch.name, settings.name, preset.name),
    timeZone: merged(patch.time_zone, settings.timeZone, preset.timeZone),
    units: merged(patch.units, settings.units, preset.units),
    language: merged(patch.language, settings.language, preset.language),
    location: merged(patch.location, settings.location, preset.location),
    openingHours: mergedHours(patch.opening_hours, settings.openingHours),
    pack: mergedPack(patch.pack, settings.pack),
    silentAfterS: merged(patch.silent_after_s, settings.silentAfterS, preset.silentAfterS),
    silentOnCourseAfterS: merged(
      patch.silent_on_course_after_s,
      settings.silentOnCourseAfterS,
      preset.silentOnCourseAfterS,
    ),
    chargeCheckH: merged(patch.charge_check_h, settings.chargeCheckH, preset.chargeCheckH),
    autoLockAfterMin: merged(patch.auto_lock_after_min, settings.autoLockAfterMin, preset.autoLockAfterMin),
    lockAtClosing: merged(patch.lock_at_closing, settings.lockAtClosing, preset.lockAtClosing),
    minutesPerHole: merged(patch.minutes_per_hole, settings.minutesPerHole, preset.minutesPerHole),
    teeIntervalMin: merged(patch.tee_interval_min, settings.teeIntervalMin, preset.teeIntervalMin),
    delayFromMin: merged(patch.delay_from_min, settings.delayFromMin, preset.delayFromMin),
    roundTimeoutMin: merged(patch.round_timeout_min, settings.roundTimeoutMin, preset.roundTimeoutMin),
    roundTimeoutLock: merged(patch.round_timeout_lock, settings.roundTimeoutLock, preset.roundTimeoutLock),
    zoneStayS: merged(patch.zone_stay_s, settings.zoneStayS, preset.zoneStayS),
    restAfterS: merged(patch.rest_after_s, settings.restAfterS, preset.restAfterS),
    lockMaxSpeedKmh: merged(patch.lock_max_speed_kmh, settings.lockMaxSpeedKmh, preset.lockMaxSpeedKmh),
    lockLocateAfterS: merged(patch.lock_locate_after_s, settings.lockLocateAfterS, preset.lockLocateAfterS),
    namesKeptDays: merged(patch.names_kept_days, settings.namesKeptDays, preset.namesKeptDays),
    returnAfterMin: merged(patch.return_after_min, settings.returnAfterMin, preset.returnAfterMin),
    callEscalateMin: merged(patch.call_escalate_min, settings.callEscalateMin, preset.callEscalateMin),
    vehicleKinds: mergedKinds(patch.vehicle_kinds, settings.vehicleKinds),
    trips: mergedTrips(patch.trips, settings.trips),
    isChecklistHidden: merged(patch.hide_checklist, settings.isChecklistHidden, preset.isChecklistHidden),
  }
}

/** RFC 7396 for one field. */
function merged<Value>(patch: Value | null | undefined, known: Value, preset: Value): Value {
  return patch === undefined ? known : (patch ?? preset)
}

function mergedPack(patch: SiteSettingsPatch['pack'], known: PackVoltages): PackVoltages {
  if (patch === undefined) return known
  if (patch === null) return DEFAULT_SITE_SETTINGS.pack
  return {
    emptyV: merged(patch.empty_v, known.emptyV, null),
    fullV: merged(patch.full_v, known.fullV, null),
    lowV: merged(patch.low_v, known.lowV, null),
  }
}

function mergedKinds(
  patch: SiteSettingsPatch['vehicle_kinds'],
  known: SiteSettings['vehicleKinds'],
): SiteSettings['vehicleKinds'] {
  if (patch === undefined) return known
  return ofServiceKinds((kind) => {
    const preset = DEFAULT_SITE_SETTINGS.vehicleKinds[kind]
    const given = patch === null ? null : patch[kind]
    if (given === null) return preset
    return {
      autoLock: merged(given?.auto_lock, known[kind].autoLock, preset.autoLock),
      lockAtClosing: merged(given?.lock_at_closing, known[kind].lockAtClosing, preset.lockAtClosing),
      alerts: [...new Set(merged(given?.alerts, known[kind].alerts, preset.alerts))],
    }
  })
}

function mergedTrips(patch: SiteSettingsPatch['trips'], known: SiteSettings['trips']): SiteSettings['trips'] {
  if (patch === undefined) return known
  const given = { ...known, ...patch }
  return Object.fromEntries(
    Object.entries(patch === null ? {} : given).filter(([, value]) => value !== null && value !== undefined),
  )
}

// the schema has rejected invalid opening hours already
function mergedHours(patch: unknown, known: OpeningHours | null): OpeningHours | null {
  if (patch === undefined) return known
  if (typeof patch !== 'object' || patch === null) return null
  const given = new Map(Object.entries(patch))
  const hoursOf = (day: Weekday) => (given.has(day) ? (readOpenHours(given.get(day)) ?? null) : (known?.[day] ?? null))
  return {
    mon: hoursOf('mon'),
    tue: hoursOf('tue'),
    wed: hoursOf('wed'),
    thu: hoursOf('thu'),
    fri: hoursOf('fri'),
    sat: hoursOf('sat'),
    sun: hoursOf('sun'),
  }
}

function toOpeningHoursJson(hours: OpeningHours | null): SiteSettingsJson['opening_hours'] {
  if (hours === null) return null
  const day = (name: Weekday) => toOpenHoursJson(hours[name])
  return {
    mon: day('mon'),
    tue: day('tue'),
    wed: day('wed'),
    thu: day('thu'),
    fri: day('fri'),
    sat: day('sat'),
    sun: day('sun'),
  }
}

function toOpenHoursJson(hours: OpenHours | null): [string, string] | null {
  return hours === null ? null : [toTime(hours.opensMinute), toTime(hours.closesMinute)]
}

function toTime(minute: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`
}
