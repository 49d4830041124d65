import { z } from 'zod'
import { readOpenHours, TIME } from '#shared/site/opening-hours.ts'
import { LOCK_SPEED_KMH, WEEKDAYS } from '#shared/site/settings.ts'
import { isTimeZone, TIME_ZONE } from '#shared/site/time-zone.ts'
import type { TripConfig } from '#shared/trips/config.ts'
import { oneLine } from './schema/name.ts'
import { CONFIG_DESCRIPTIONS } from './trips.ts'

const SECONDS = { min: 1, max: 86_400 }
const MINUTES = { min: 0, max: 1_440 }
const VOLTS = { min: 0, max: 120 }

const number = ({ min, max }: { min: number; max: number }) => z.number().min(min).max(max)
const seconds = number(SECONDS)
const minutes = number(MINUTES)

const NAME = { description: 'Of the course, for people.', example: 'Pebble Creek' }
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
    description: 'IANA. Local days, opening hours and messages go by it.',
    example: 'America/New_York',
  })

const unitsSchema = z.enum(['metric', 'imperial']).meta({ description: 'Of what is shown to people.' })
const languageSchema = z.enum(['en', 'de']).meta({ description: 'Of what is said to people.' })

const timeSchema = z.string().meta({ pattern: TIME.source, description: 'HH:MM, 00:00 to 24:00.', example: '07:00' })
/** Any content: what is wrong with it has one code of its own. */
const openDaySchema = z
  .tuple([timeSchema, timeSchema])
  .nullable()
  .meta({
    description: 'Opening and closing by local clocks; null is closed all day.',
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
  .meta({ description: 'null while none are known: nothing closes then, and nothing is after hours.' })

const openingHoursPatchSchema = z
  .unknown()
  .superRefine((hours, ctx) => {
    for (const { path, message } of openingHoursMistakes(hours))
      ctx.addIssue({ code: 'custom', path, message, params: { code: 'invalid_opening_hours' } })
  })
  .meta({
    type: 'object',
    description:
      'By day, mon to sun. A day that is left out stays as it is, or closed where no hours were known; a day ' +
      'that is null is closed. null forgets all.',
    example: { mon: ['07:00', '20:00'], tue: null },
  })

function openingHoursMistakes(hours: unknown): { path: string[]; message: string }[] {
  if (hours === null || hours === undefined) return []
  if (typeof hours !== 'object' || Array.isArray(hours))
    return [{ path: [], message: 'must be an object of days, or null' }]
  return Object.entries(hours).flatMap(([day, open]) => {
    if (!WEEKDAYS.some((known) => known === day)) return [{ path: [day], message: `is no day: ${WEEKDAYS.join(', ')}` }]
    if (open === null || readOpenHours(open) !== undefined) return []
    return [{ path: [day], message: 'must be null, or opening and a later closing as ["HH:MM", "HH:MM"]' }]
  })
}

const voltsSchema = number(VOLTS).nullable()
const packFields = {
  empty_v: voltsSchema.meta({
    description: 'Rest voltage of an empty pack; null: not known.',
    example: 47.5,
  }),
  full_v: voltsSchema.meta({ description: 'Rest voltage of a full pack; null: not known.', example: 51.2 }),
  low_v: voltsSchema.meta({
    description: 'A pack that rests below it is low; null: none ever is.',
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

const fields = {
  name: nameSchema,
  time_zone: timeZoneSchema,
  units: unitsSchema,
  language: languageSchema,
  silent_after_s: seconds.meta({
    description: 'A cart without a connection is silent after so many seconds.',
  }),
  silent_on_course_after_s: seconds.meta({
    description: 'A cart that is out and connected is silent after so many seconds without a message.',
  }),
  charge_check_h: z.number().min(0).max(24).meta({
    description: 'So many hours before opening a cart that does not charge is told.',
  }),
  auto_lock_after_min: minutes.meta({
    description: 'A cart that has stood in a parking zone for so many minutes is locked; 0 is never.',
  }),
  lock_at_closing: z.boolean().meta({ description: 'Whether carts in the barn are locked at closing time.' }),
  minutes_per_hole: minutes.meta({ description: 'The pace of a round.' }),
  zone_stay_s: seconds.meta({ description: 'A cart in a stop zone for longer is told.' }),
  rest_after_s: seconds.meta({ description: 'A pack is at rest after so many seconds without movement.' }),
  lock_max_speed_kmh: z
    .number()
    .min(LOCK_SPEED_KMH.least)
    .max(LOCK_SPEED_KMH.most)
    .meta({ description: 'A cart that is faster is not locked.' }),
  lock_locate_after_s: seconds.meta({
    description: 'A cart on the course whose position is older is located before it is locked.',
  }),
}

/** `GET /site` */
export const siteSettingsSchema = z
  .object({
    ...fields,
    // a stored one may be older than what names may have in them
    name: z.string().meta(NAME),
    opening_hours: openingHoursSchema,
    pack: z.object(packFields).meta({ description: 'Of the carts: empty < low < full.' }),
    trips: z
      .object(tripFields)
      .partial()
      .meta({
        description: 'Defaults of trips that are other than those of the API.',
        example: { minimalTripDistance: 100 },
      }),
  })
  .meta({ id: 'SiteSettings' })
export type SiteSettingsJson = z.infer<typeof siteSettingsSchema>

/** What the screens of everybody go by. */
export type SiteForScreensJson = Pick<SiteSettingsJson, 'name' | 'time_zone' | 'units' | 'language'>

/** What a head office has of it: the body of the entity `site`. */
export const siteBodySchema = z.object({ settings: siteSettingsSchema })

const partial = <Shape extends z.ZodRawShape>(shape: Shape) =>
  Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [name, (field as z.ZodType).nullable().optional()]),
  ) as { [Name in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[Name] & z.ZodType>> }

/** `PATCH /site`: RFC 7396; null is the default, but for a day of `opening_hours`, which it closes. */
export const siteSettingsPatchSchema = z
  .strictObject({
    ...partial(fields),
    opening_hours: openingHoursPatchSchema.optional(),
    pack: z.strictObject(partial(packFields)).nullable().optional(),
    trips: z.strictObject(partial(tripFields)).nullable().optional(),
  })
  .meta({ id: 'SiteSettingsPatch', description: 'What is left out stays as it is; null is the default.' })
export type SiteSettingsPatch = z.infer<typeof siteSettingsPatchSchema>
