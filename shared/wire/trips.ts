import { z } from 'zod'
import { DEFAULT_TRIP_CONFIG, type TripConfig } from '#shared/trips/config.ts'
import {
  choiceParam,
  dateParam,
  hardwareIdSchema,
  isoSchema,
  listQuery,
  numberParam,
  stringListParam,
} from './schema/params.ts'

const RANGE_DAYS_MAX = 31
/** From `from` to `to`; exactly this much is allowed. */
export const TRIP_RANGE_MAX_MS = RANGE_DAYS_MAX * 86_400_000
export const TRIP_DEVICES_MAX = 50
/** Ids a request for active trips may name. */
export const ACTIVE_DEVICES_MAX = 500
const LOOKBACK_SECONDS_MAX = RANGE_DAYS_MAX * 86_400

/** How the OpenAPI document shows what is text in a query until it is read. */
const NUMBER = { type: 'number', minimum: 0 } as const

export const CONFIG_DESCRIPTIONS: Record<keyof TripConfig, string> = {
  speedThreshold: 'km/h; below it a device is stopped. At 0 only gaps end trips.',
  minimalTripDuration: 'Seconds from start to end, pauses included.',
  minimalTripDistance: 'Metres. Also how far apart two stops are different places, though at least 30 m.',
  minimalParkingDuration: 'Seconds of standing that end a trip and make a stop.',
  minimalNoDataDuration: 'Seconds; a longer silence ends a trip and counts as standing.',
  minimalAvgSpeed: 'km/h over the whole duration of a trip.',
  maxAcceleration:
    'm/s²; what would need more is a GPS spike and left out. 0 turns this off. Over an interval of t seconds it sees ' +
    'jumps of more than about maxAcceleration * t² metres; for carts 2 is already generous.',
}

/** The parameters a caller may set; one that is left out is as the site has set it, else the default named here. */
const configQuery = {
  speedThreshold: configParam('speedThreshold'),
  minimalTripDuration: configParam('minimalTripDuration'),
  minimalTripDistance: configParam('minimalTripDistance'),
  minimalParkingDuration: configParam('minimalParkingDuration'),
  minimalNoDataDuration: configParam('minimalNoDataDuration'),
  minimalAvgSpeed: configParam('minimalAvgSpeed'),
  maxAcceleration: configParam('maxAcceleration'),
} satisfies Record<keyof TripConfig, z.ZodType<number | undefined>>

function configParam(name: keyof TripConfig) {
  return numberParam()
    .optional()
    .meta({
      ...NUMBER,
      description: CONFIG_DESCRIPTIONS[name],
      default: DEFAULT_TRIP_CONFIG[name],
      example: DEFAULT_TRIP_CONFIG[name],
    })
}

const range = {
  from: dateParam.meta({ description: `ISO 8601, inclusive. At most ${RANGE_DAYS_MAX} days before to.` }),
  to: dateParam.meta({ description: 'ISO 8601, inclusive.' }),
}

const devices = {
  hardware_ids: stringListParam.optional().meta({
    description: 'Repeated or comma-separated. Required for all but admins, who get every device without it.',
  }),
}

const activity = {
  maxAgeSeconds: numberParam()
    .default(300)
    .meta({
      ...NUMBER,
      description: 'Seconds; a device whose latest fix is older is not active.',
      default: 300,
      example: 300,
    }),
  lookbackSeconds: numberParam(LOOKBACK_SECONDS_MAX)
    .default(14_400)
    .meta({
      ...NUMBER,
      maximum: LOOKBACK_SECONDS_MAX,
      description: 'Seconds of history that are looked at; a trip that began before is reported from there on.',
      default: 14_400,
      example: 14_400,
    }),
}

const tripListQuery = listQuery(
  'asc',
  'By startTime: asc is oldest first, desc newest first. A map has the order asc only.',
).extend({
  format: choiceParam(['json', 'geojson', 'csv'], 'invalid_format')
    .optional()
    .meta({ description: 'In place of Accept; geojson is a map, csv a file of the trips.' }),
})

export const deviceTripsQuerySchema = tripListQuery.extend({ ...range, ...configQuery })
export const tripsQuerySchema = tripListQuery.extend({ ...range, ...devices, ...configQuery })
export const deviceActiveTripQuerySchema = z.object({ ...activity, ...configQuery })
export const activeTripsQuerySchema = listQuery('asc', 'By hardware_id: asc or desc.').extend({
  ...devices,
  ...activity,
  ...configQuery,
})
export const tripSummaryQuerySchema = z.object({
  from: range.from.optional(),
  to: range.to.optional(),
  date: z.string().optional().meta({
    format: 'date',
    description: 'A day by the clocks of the site, in place of from and to.',
    example: '2026-05-01',
  }),
  ...configQuery,
})

/** The `:hardwareId` of a trip path: a short id does as well. */
export const tripDeviceParams = z.object({
  hardwareId: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

const placeSchema = z
  .object({
    lat: z.number().meta({ description: 'Latitude, degrees.', example: 28.4101234 }),
    long: z.number().meta({ description: 'Longitude, degrees.', example: -81.5801234 }),
  })
  .meta({ id: 'Place' })
const metresSchema = z.number().meta({ description: 'Metres, to 0.1.', example: 2500.4 })
const secondsSchema = z.number().meta({ description: 'Seconds.', example: 600 })
const speedSchema = z.number().meta({ description: 'km/h, to 0.01.', example: 15.25 })
const countSchema = z.number().int()

export const tripFiguresSchema = z.object({
  startTime: isoSchema.meta({ description: 'Time of the first moving point.' }),
  endTime: isoSchema.meta({
    description: 'Time of the first point of the stop that follows, or of the last one there is.',
  }),
  startLocation: placeSchema,
  endLocation: placeSchema,
  distance: metresSchema.meta({ description: 'Metres driven, to 0.1; without jitter in pauses.' }),
  duration: secondsSchema.meta({ description: 'Seconds from start to end, pauses included.' }),
  maxSpeed: speedSchema.meta({ description: 'km/h, to 0.01; as reported.' }),
  avgSpeed: speedSchema.meta({ description: 'km/h, to 0.01; distance by duration.' }),
  pointCount: countSchema.meta({ description: 'GPS points from start to end, without spikes.' }),
})
export type TripFiguresJson = z.infer<typeof tripFiguresSchema>

const hardwareId = { hardware_id: hardwareIdSchema }

export const tripSchema = z.object({ ...hardwareId, ...tripFiguresSchema.shape }).meta({ id: 'Trip' })
export type TripJson = z.infer<typeof tripSchema>

export const stopSchema = z
  .object({
    ...hardwareId,
    startTime: isoSchema.meta({ description: 'Time of its first point.' }),
    endTime: isoSchema.meta({
      description: 'Time of the point where it was left, or of the last one there is.',
    }),
    location: placeSchema,
    duration: secondsSchema.meta({ description: 'Seconds from start to end.' }),
  })
  .meta({ id: 'Stop' })
export type StopJson = z.infer<typeof stopSchema>

const configUsedSchema = z
  .object({
    speedThreshold: configValue('speedThreshold'),
    minimalTripDuration: configValue('minimalTripDuration'),
    minimalTripDistance: configValue('minimalTripDistance'),
    minimalParkingDuration: configValue('minimalParkingDuration'),
    minimalNoDataDuration: configValue('minimalNoDataDuration'),
    minimalAvgSpeed: configValue('minimalAvgSpeed'),
    maxAcceleration: configValue('maxAcceleration'),
  } satisfies Record<keyof TripConfig, z.ZodType<number>>)
  .meta({ id: 'TripConfig', description: 'The parameters in effect.' })

function configValue(name: keyof TripConfig) {
  return z.number().meta({ description: CONFIG_DESCRIPTIONS[name], example: DEFAULT_TRIP_CONFIG[name] })
}

const totalTrips = countSchema.meta({ description: 'Trips in the range.', example: 4 })
const totalStops = countSchema.meta({ description: 'Stops in the range.', example: 5 })
const totalDistance = metresSchema.meta({ description: 'Metres of all trips, to 0.1.' })
const totalTripDuration = secondsSchema.meta({ description: 'Seconds of all trips.' })
const totalStopDuration = secondsSchema.meta({ description: 'Seconds of all stops.' })

const warnings = {
  warnings: z
    .array(z.string())
    .optional()
    .meta({
      description: 'What may be missing in this answer, for people; absent where nothing is.',
      example: ['records of 1 damaged block(s) of this range may be missing'],
    }),
}

const totalsSchema = z.object({
  totalTrips,
  totalStops,
  totalDistance,
  totalDuration: totalTripDuration,
  totalStopDuration,
  positionsAnalyzed: countSchema.meta({ description: 'GPS records in the range, spikes included.' }),
  ...warnings,
})

const devicesQueried = {
  devicesQueried: countSchema.meta({ description: 'Devices in scope that were looked at.', example: 12 }),
}

export const deviceTripsSchema = z.object({
  trips: z.array(tripSchema).meta({ description: 'By startTime, as order says.' }),
  stops: z.array(stopSchema).meta({ description: 'By startTime, as order says.' }),
  summary: totalsSchema.extend({ configUsed: configUsedSchema }),
})
export type DeviceTripsJson = z.infer<typeof deviceTripsSchema>

export const tripsSchema = z.object({
  trips: z.array(tripSchema).meta({ description: 'By startTime, then hardware_id, as order says.' }),
  stops: z.array(stopSchema).meta({ description: 'By startTime, then hardware_id, as order says.' }),
  summary: totalsSchema.extend({ ...devicesQueried, configUsed: configUsedSchema }),
})

export const activeTripSchema = z.object({
  ...hardwareId,
  speed: speedSchema.meta({ description: 'km/h at the latest point, to 0.01.' }),
  last_position_at: isoSchema.meta({ description: 'Time of the latest point that is no spike.' }),
  last_position_age_seconds: secondsSchema.meta({ description: 'Seconds since then.', example: 4 }),
  location: placeSchema,
  trip: tripFiguresSchema.meta({ description: 'The trip so far; it may be shorter than a trip in a list.' }),
})
export type ActiveTripJson = z.infer<typeof activeTripSchema>

const activityUsedSchema = z.object({
  configUsed: configUsedSchema,
  maxAgeSeconds: z.number().meta({ description: 'Seconds, in effect.', example: 300 }),
  lookbackSeconds: z.number().meta({ description: 'Seconds, in effect.', example: 14_400 }),
})

export const activeTripsSchema = z.object({
  activeTrips: z.array(activeTripSchema).meta({ description: 'By hardware_id.' }),
  summary: activityUsedSchema.extend({
    activeCount: countSchema.meta({ description: 'Devices on a trip now.', example: 3 }),
    ...devicesQueried,
  }),
})

export const deviceActiveTripSchema = z.object({
  ...hardwareId,
  active: z.boolean().meta({ description: 'Whether it is on a trip now.' }),
  activeTrip: activeTripSchema.optional().meta({ description: 'Only when active.' }),
  summary: activityUsedSchema,
})

export const tripSummarySchema = z.object({
  ...hardwareId,
  from: isoSchema.meta({ description: 'As asked for, or the first instant of date; else 24 hours ago.' }),
  to: isoSchema.meta({ description: 'As asked for, or the last millisecond of date; else now.' }),
  totalTrips,
  totalStops,
  totalDistance,
  totalTripDuration,
  totalStopDuration,
  maxSpeed: speedSchema.meta({ description: 'km/h, the highest of all trips; 0 without trips.' }),
  avgTripDistance: metresSchema.meta({ description: 'Metres, to 0.1; 0 without trips.' }),
  positionsAnalyzed: countSchema.meta({ description: 'GPS records in the range, spikes included.' }),
  ...warnings,
})
export type TripSummaryJson = z.infer<typeof tripSummarySchema>

const positionSchema = z.array(z.number()).meta({ description: 'Longitude, then latitude, degrees.' })

const tripFeatureSchema = z.object({
  type: z.literal('Feature'),
  geometry: z.object({
    type: z.literal('LineString'),
    coordinates: z.array(positionSchema).meta({ description: 'The points of the trip, without spikes.' }),
  }),
  properties: tripSchema.extend({
    kind: z.literal('trip').meta({ description: 'Tells it from a stop.' }),
    coordTimes: z.array(isoSchema).meta({ description: 'When the device was at each of the coordinates.' }),
  }),
})

const stopFeatureSchema = z.object({
  type: z.literal('Feature'),
  geometry: z.object({ type: z.literal('Point'), coordinates: positionSchema }),
  properties: stopSchema.extend({ kind: z.literal('stop').meta({ description: 'Tells it from a trip.' }) }),
})

/** Trips and stops for a map. Source: RFC 7946 */
export const tripFeaturesSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    features: z
      .array(z.union([tripFeatureSchema, stopFeatureSchema]))
      .meta({ description: 'By hardware_id; of each device the trips, then the stops, by startTime.' }),
  })
  .meta({ id: 'TripFeatures' })
