import { DEFAULT_SITE_SETTINGS, tripDefaultsOf, WEEKDAYS, type Weekday } from '#shared/site/settings.ts'
import { fromUnits, type Measure, toUnits, type Units } from '#shared/units.ts'
import type { SiteSettingsJson, SiteSettingsPatch } from '#shared/wire/site.ts'

/** Numeric settings, by the names that the gateway uses in its errors. */
export const NUMBER_FIELDS = [
  'silent_after_s',
  'silent_on_course_after_s',
  'charge_check_h',
  'auto_lock_after_min',
  'minutes_per_hole',
  'tee_interval_min',
  'delay_from_min',
  'round_timeout_min',
  'return_after_min',
  'names_kept_days',
  'zone_stay_s',
  'rest_after_s',
  'lock_max_speed_kmh',
  'lock_locate_after_s',
  'call_escalate_min',
  'pack.empty_v',
  'pack.full_v',
  'pack.low_v',
  'trips.speedThreshold',
  'trips.minimalTripDuration',
  'trips.minimalTripDistance',
  'trips.minimalParkingDuration',
  'trips.minimalNoDataDuration',
  'trips.minimalAvgSpeed',
  'trips.maxAcceleration',
] as const
export type NumberField = (typeof NUMBER_FIELDS)[number]

export type HoursJson = SiteSettingsJson['opening_hours']
type Hours = NonNullable<HoursJson>

/** Unsaved changes; numbers as they were typed. */
export interface SiteEdits extends Partial<Pick<SiteSettingsJson, 'name' | 'time_zone' | 'units' | 'language'>> {
  lock_at_closing?: boolean
  round_timeout_lock?: boolean
  opening_hours?: HoursJson
  /** Changed fields only. */
  vehicle_kinds?: NonNullable<SiteSettingsPatch['vehicle_kinds']>
  numbers?: Readonly<Partial<Record<NumberField, string>>>
}

const PRESET = DEFAULT_SITE_SETTINGS
const PRESET_TRIPS = tripDefaultsOf(PRESET)
/** Defaults of empty fields; null if the value is then unknown. */
const NUMBER_DEFAULTS: Readonly<Record<NumberField, number | null>> = {
  silent_after_s: PRESET.silentAfterS,
  silent_on_course_after_s: PRESET.silentOnCourseAfterS,
  charge_check_h: PRESET.chargeCheckH,
  auto_lock_after_min: PRESET.autoLockAfterMin,
  minutes_per_hole: PRESET.minutesPerHole,
  tee_interval_min: PRESET.teeIntervalMin,
  delay_from_min: PRESET.delayFromMin,
  round_timeout_min: PRESET.roundTimeoutMin,
  return_after_min: PRESET.returnAfterMin,
  names_kept_days: PRESET.namesKeptDays,
  zone_stay_s: PRESET.zoneStayS,
  rest_after_s: PRESET.restAfterS,
  lock_max_speed_kmh: PRESET.lockMaxSpeedKmh,
  lock_locate_after_s: PRESET.lockLocateAfterS,
  call_escalate_min: PRESET.callEscalateMin,
  'pack.empty_v': PRESET.pack.emptyV,
  'pack.full_v': PRESET.pack.fullV,
  'pack.low_v': PRESET.pack.lowV,
  'trips.speedThreshold': PRESET_TRIPS.speedThreshold,
  'trips.minimalTripDuration': PRESET_TRIPS.minimalTripDuration,
  'trips.minimalTripDistance': PRESET_TRIPS.minimalTripDistance,
  'trips.minimalParkingDuration': PRESET_TRIPS.minimalParkingDuration,
  'trips.minimalNoDataDuration': PRESET_TRIPS.minimalNoDataDuration,
  'trips.minimalAvgSpeed': PRESET_TRIPS.minimalAvgSpeed,
  'trips.maxAcceleration': PRESET_TRIPS.maxAcceleration,
}

/** Fields whose numbers are typed in the chosen units. */
export const MEASURES: Readonly<Partial<Record<NumberField, Measure>>> = {
  lock_max_speed_kmh: 'speed',
  'trips.speedThreshold': 'speed',
  'trips.minimalTripDistance': 'length',
  'trips.minimalAvgSpeed': 'speed',
  'trips.maxAcceleration': 'acceleration',
}

/** Formats a number for its field; empty for the default or an unknown value. */
export function shownNumber(settings: SiteSettingsJson, field: NumberField, units: Units): string {
  return numberText(numberIn(settings, field), field, units)
}

/** Formats the default of a field in its units; empty if the value is then unknown. */
export function shownDefault(field: NumberField, units: Units): string {
  return numberText(NUMBER_DEFAULTS[field], field, units)
}

function numberText(value: number | null, field: NumberField, units: Units): string {
  const measure = MEASURES[field]
  if (value === null) return ''
  return String(measure === undefined ? value : toUnits(value, measure, units))
}

/**
 * Returns the patch for the edited settings, or the fields without a valid number. Unchanged settings are not sent:
 * another user may have changed them meanwhile, and a value that reads the same in miles must not be rounded.
 */
export function patchOf(
  settings: SiteSettingsJson,
  edits: SiteEdits,
  units: Units,
): { patch: SiteSettingsPatch } | { noNumbers: NumberField[] } {
  const { numbers = {}, opening_hours: hours, ...plain } = edits
  const patch: SiteSettingsPatch = {}
  const noNumbers: NumberField[] = []
  for (const field of NUMBER_FIELDS) {
    const typed = numbers[field]
    if (typed === undefined) continue
    const number = readNumber(typed)
    const measure = MEASURES[field]
    if (number === undefined) noNumbers.push(field)
    else if (String(number ?? '') !== shownNumber(settings, field, units))
      putNumber(patch, field, number === null || measure === undefined ? number : fromUnits(number, measure, units))
  }
  if (noNumbers.length > 0) return { noNumbers }
  const known: Readonly<Record<string, unknown>> = settings
  for (const [name, value] of Object.entries(plain)) if (value !== known[name]) Object.assign(patch, { [name]: value })
  const changedHours = hours === undefined ? undefined : hoursPatch(settings.opening_hours, hours)
  return { patch: changedHours === undefined ? patch : { ...patch, opening_hours: changedHours } }
}

/** Counts the changed settings. */
export function changesIn(settings: SiteSettingsJson, edits: SiteEdits, units: Units): number {
  const result = patchOf(settings, edits, units)
  if ('noNumbers' in result) return result.noNumbers.length
  const { pack, trips, ...plain } = result.patch
  return [plain, pack, trips].reduce((count, part) => count + Object.keys(part ?? {}).length, 0)
}

/** Copies Monday's hours to every day. */
export function copyMonday(hours: Hours): Hours {
  const day = (): Hours[Weekday] => (hours.mon === null ? null : [...hours.mon])
  return { mon: day(), tue: day(), wed: day(), thu: day(), fri: day(), sat: day(), sun: day() }
}

/** Returns the changed days; all days if none were known. */
function hoursPatch(before: HoursJson, after: HoursJson): SiteSettingsPatch['opening_hours'] | undefined {
  if (JSON.stringify(before) === JSON.stringify(after)) return undefined
  if (before === null || after === null) return after
  const changed = WEEKDAYS.filter((day) => before[day]?.join() !== after[day]?.join())
  return changed.length === 0 ? undefined : Object.fromEntries(changed.map((day) => [day, after[day]]))
}

/** Parses a number, also with a decimal comma: null for an empty field, the default; undefined for invalid text. */
function readNumber(typed: string): number | null | undefined {
  const text = typed.trim().replace(',', '.')
  if (text === '') return null
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

function numberIn(settings: SiteSettingsJson, field: NumberField): number | null {
  const [room, name] = placeOf(field)
  const values: Readonly<Record<string, unknown>> = room === null ? settings : settings[room]
  const value = values[name]
  return typeof value === 'number' ? value : null
}

function putNumber(patch: SiteSettingsPatch, field: NumberField, value: number | null): void {
  const [room, name] = placeOf(field)
  if (room === null) Object.assign(patch, { [name]: value })
  else patch[room] = { ...patch[room], [name]: value }
}

function placeOf(field: NumberField): [room: 'pack' | 'trips' | null, name: string] {
  const [first = '', second] = field.split('.')
  if (second === undefined) return [null, first]
  return [first === 'pack' ? 'pack' : 'trips', second]
}
