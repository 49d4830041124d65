import { z } from 'zod'
import { readOpenHours, TIME } from '#shared/site/opening-hours.ts'
import { LOCK_SPEED_KMH, ofServiceKinds, WEEKDAYS } from '#shared/site/settings.ts'
import { isTimeZone, TIME_ZONE } from '#shared/site/time-zone.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import { VEHICLE_ALERT_KINDS } from './alert-kinds.ts'
import { oneLine } from './schema/name.ts'
import { CONFIG_DESCRIPTIONS } from './trips.ts'

const SECONDS = { min: 1, max: 86_400 }
const MINUTES = { min: 0, max: 1_440 }
const VOLTS = { min: 0, max: 120 }

const number = ({ min, max }: { min: number; max: number }) => z.number().min(min).max(max)
const seconds = number(SECONDS)
const minutes = number(MINUTES)

const NAME = { description: 'Display name of the course.', example: 'Pebble Creek' }
const nameSchema = oneLine.meta(NAME)

const timeZoneSchema = z
  .string()
  .max(64)
  .superRefine((name, ctx) => {
    if (isTimeZone(name)) return
    const message = 'must be a time zone of the IANA database'
    ctx.addIssue({ code: 'custom', message, params: { code: 'invalid_time_zone' } })
  })
  .meta({
    pattern: TIME_ZONE.source,
    description: 'Time zone by its IANA name; applies to local days, opening hours and messages.',
    example: 'America/New_York',
  })

const unitsSchema = z.enum(['metric', 'imperial']).meta({ description: 'Units of everything displayed.' })
const languageSchema = z.enum(['en', 'de']).meta({ description: 'Language of everything displayed and sent.' })

const locationSchema = z
  .strictObject({
    lat: z.number().min(-85).max(85).meta({ description: 'Degrees north.' }),
    long: z.number().min(-180).max(180).meta({ description: 'Degrees east.' }),
  })
  .nullable()
  .meta({
    description: 'Position of the course, for a map without zones, course map and carts; null if unknown.',
    example: { lat: 36.5682, long: -121.9487 },
  })

const timeSchema = z.string().meta({ pattern: TIME.source, description: 'HH:MM, 00:00 to 24:00.', example: '07:00' })
/** Accepts any content: all faults share a separate error code. */
const openDaySchema = z
  .tuple([timeSchema, timeSchema])
  .nullable()
  .meta({
    description: 'Opening and closing in local time; null for a closed day.',
    example: ['07:00', '20:00'],
  })
const openingHoursSchema = z
  .object({
    mon: openDaySchema,
    tue: openDaySchema,
    wed: openDaySchema,
    thu: openDaySchema,
    fri: openDaySchema,
    sat: openDaySchema,
    sun: openDaySchema,
  })
  .nullable()
  .meta({
    description: 'Opening hours; null if unknown: the course does not close then, and nothing counts as after hours.',
  })

const openingHoursPatchSchema = z
  .unknown()
  .superRefine((hours, ctx) => {
    for (const { path, message } of openingHoursMistakes(hours))
      ctx.addIssue({ code: 'custom', path, message, params: { code: 'invalid_opening_hours' } })
  })
  .meta({
    type: 'object',
    description:
      'Opening hours by day, mon to sun. An absent day stays unchanged, or is closed if no hours were known; null ' +
      'closes a day. null instead of the object deletes all hours.',
    example: { mon: ['07:00', '20:00'], tue: null },
  })

function openingHoursMistakes(hours: unknown): { path: string[]; message: string }[] {
  if (hours === null || hours === undefined) return []
  if (typeof hours !== 'object' || Array.isArray(hours))
    return [{ path: [], message: 'must be an object of days, or null' }]
  return Object.entries(hours).flatMap(([day, open]) => {
    if (!WEEKDAYS.some((known) => known === day)) return [{ path: [day], message: `not a day: ${WEEKDAYS.join(', ')}` }]
    if (open === null || readOpenHours(open) !== undefined) return []
    return [{ path: [day], message: 'must be null, or opening and a later closing as ["HH:MM", "HH:MM"]' }]
  })
}

const voltsSchema = number(VOLTS).nullable()
const packFields = {
  empty_v: voltsSchema.meta({
    description: 'Rest voltage of an empty battery in volts; null if unknown.',
    example: 47.5,
  }),
  full_v: voltsSchema.meta({ description: 'Rest voltage of a full battery in volts; null if unknown.', example: 51.2 }),
  low_v: voltsSchema.meta({
    description: 'Rest voltage below which a battery is low, in volts; null for never.',
    example: 48.5,
  }),
}

function tripDefault(name: keyof TripConfig) {
  return z.number().min(0).max(Number.MAX_SAFE_INTEGER).meta({ description: CONFIG_DESCRIPTIONS[name] })
}
const tripFields = {
  speedThreshold: tripDefault('speedThreshold'),
  minimalTripDuration: tripDefault('minimalTripDuration'),
  minimalTripDistance: tripDefault('minimalTripDistance'),
  minimalParkingDuration: tripDefault('minimalParkingDuration'),
  minimalNoDataDuration: tripDefault('minimalNoDataDuration'),
  minimalAvgSpeed: tripDefault('minimalAvgSpeed'),
  maxAcceleration: tripDefault('maxAcceleration'),
} satisfies Record<keyof TripConfig, z.ZodType<number>>

const ALERTS = { description: 'Alert kinds that open for vehicles of this kind.', example: ['low_battery'] }
const kindFields = {
  auto_lock: z.boolean().meta({ description: 'True to lock them after auto_lock_after_min in a parking zone.' }),
  lock_at_closing: z.boolean().meta({ description: 'True to lock them in a parking zone at closing time.' }),
  // a later version may know more
  alerts: z.array(z.string()).meta(ALERTS),
}

const fields = {
  name: nameSchema,
  time_zone: timeZoneSchema,
  units: unitsSchema,
  language: languageSchema,
  location: locationSchema,
  silent_after_s: seconds.meta({
    description: 'Seconds without a connection after which a cart is silent.',
  }),
  silent_on_course_after_s: seconds.meta({
    description: 'Seconds without a message after which a connected cart that is out is silent.',
  }),
  charge_check_h: z.number().min(0).max(24).meta({
    description: 'Hours before opening at which carts that do not charge raise an alert.',
  }),
  auto_lock_after_min: minutes.meta({
    description: 'Minutes in a parking zone without movement after which a cart is locked; 0 means never.',
  }),
  lock_at_closing: z.boolean().meta({ description: 'True to lock carts in the barn at closing time.' }),
  minutes_per_hole: minutes.meta({ description: 'Pace of a round in minutes per hole.' }),
  tee_interval_min: z.number().min(1).max(60).meta({ description: 'Minutes between two tee times.' }),
  delay_from_min: z.number().min(1).max(60).meta({ description: 'Delay in minutes from which a party is late.' }),
  round_timeout_min: minutes.meta({
    description: 'Minutes without movement on a round after which a cart raises an alert; 0 means never.',
  }),
  round_timeout_lock: z.boolean().meta({
    description: 'True to lock such carts, two minutes later, in zones with lock_here.',
  }),
  zone_stay_s: seconds.meta({ description: 'Seconds in a stop zone after which a cart raises an alert.' }),
  rest_after_s: seconds.meta({ description: 'Seconds without movement after which a battery is at rest.' }),
  lock_max_speed_kmh: z
    .number()
    .min(LOCK_SPEED_KMH.least)
    .max(LOCK_SPEED_KMH.most)
    .meta({ description: 'Maximum speed in km/h at which a cart may be locked.' }),
  lock_locate_after_s: seconds.meta({
    description:
      'Maximum age in seconds of the position of a cart on the course; an older one is requested again before a lock.',
  }),
  names_kept_days: z.number().int().min(0).max(400).meta({
    description:
      'Days after which names and texts of golfers are deleted, at 04:00; 0 and 1: in the night after the round.',
  }),
  return_after_min: minutes.meta({
    description: 'Minutes locked in a parking zone after which a cart that was given out counts as returned.',
  }),
  call_escalate_min: z.number().min(0.01).max(1_440).meta({
    description: 'Minutes after which a call from a cart that staff have not acknowledged is escalated.',
  }),
}

const hideChecklistSchema = z.boolean().meta({ description: 'True to hide the checklist of the set-up in the app.' })

/** `GET /site` */
export const siteSettingsSchema = z
  .object({
    ...fields,
    // a stored name may be older than the rule for names
    name: z.string().meta(NAME),
    opening_hours: openingHoursSchema,
    vehicle_kinds: z.object(ofServiceKinds(() => z.object(kindFields))).meta({
      description: 'Rules for vehicles other than golf carts, by kind.',
    }),
    pack: z.object(packFields).meta({ description: 'Battery voltages of the carts: empty < low < full.' }),
    trips: z
      .object(tripFields)
      .partial()
      .meta({
        description: 'Trip defaults that differ from those of the API.',
        example: { minimalTripDistance: 100 },
      }),
    // settings of an earlier version, stored or replicated, lack it
    hide_checklist: hideChecklistSchema.default(false),
  })
  .meta({ id: 'SiteSettings' })
export type SiteSettingsJson = z.infer<typeof siteSettingsSchema>

/** Settings that the screens of all users need. */
export type SiteForScreensJson = Pick<SiteSettingsJson, 'name' | 'time_zone' | 'units' | 'language'>

/** Settings as replicated to the hub: the body of the entity `site`. An older gateway sends fewer of them. */
export const siteBodySchema = z.object({ settings: siteSettingsSchema.partial() })

const partial = <Shape extends z.ZodRawShape>(shape: Shape) =>
  Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [name, (field as z.ZodType).nullable().optional()]),
  ) as { [Name in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[Name] & z.ZodType>> }

const vehicleAlertSchema: z.ZodType<string> = z.enum(VEHICLE_ALERT_KINDS)
const kindPatch = partial({ ...kindFields, alerts: z.array(vehicleAlertSchema).max(100).meta(ALERTS) })
const kindsPatchSchema = z.strictObject(partial(ofServiceKinds(() => z.strictObject(kindPatch))))

/** `PATCH /site`: RFC 7396; null restores the default, except for a day of `opening_hours`, which it closes. */
export const siteSettingsPatchSchema = z
  .strictObject({
    ...partial(fields),
    opening_hours: openingHoursPatchSchema.optional(),
    pack: z.strictObject(partial(packFields)).nullable().optional(),
    vehicle_kinds: kindsPatchSchema.nullable().optional(),
    trips: z.strictObject(partial(tripFields)).nullable().optional(),
    hide_checklist: hideChecklistSchema.nullable().optional(),
  })
  .meta({ id: 'SiteSettingsPatch', description: 'Settings to change; null restores the default.' })
export type SiteSettingsPatch = z.infer<typeof siteSettingsPatchSchema>
