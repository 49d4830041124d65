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
/** Maximum range from `from` to `to`, inclusive. */
export const TRIP_RANGE_MAX_MS = RANGE_DAYS_MAX * 86_400_000
export const TRIP_DEVICES_MAX = 50
/** Maximum number of ids in a request for active trips. */
export const ACTIVE_DEVICES_MAX = 500
const LOOKBACK_SECONDS_MAX = RANGE_DAYS_MAX * 86_400

/** JSON Schema of a number in a query, which is text until it is parsed. */
const NUMBER = { type: 'number', minimum: 0 } as const

export const CONFIG_DESCRIPTIONS: Record<keyof TripConfig, string> = {
  speedThreshold: 'Speed in km/h below which a device is stopped. At 0 only gaps end trips.',
  minimalTripDuration: 'Minimum seconds from start to end, including pauses.',
  minimalTripDistance:
    'Minimum distance in metres. Also the distance from which two stops are different places, but at least 30 m.',
  minimalParkingDuration: 'Seconds of standing that end a trip and make a stop.',
  minimalNoDataDuration: 'Seconds; a longer time without data ends a trip and counts as standing.',
  minimalAvgSpeed: 'Minimum average speed in km/h over the whole duration of a trip.',
  maxAcceleration:
    'Acceleration in m/s² above which a fix is dropped as a GPS spike. 0 disables the filter. Over an interval of t ' +
    'seconds it detects jumps of more than about maxAcceleration * t² metres; for carts 2 is already generous.',
}

/** Configuration parameters; an absent one has the value of the site, else the default listed here. */
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
  from: dateParam.meta({
    description: `Start of the range, inclusive; ISO 8601. At most ${RANGE_DAYS_MAX} days before to.`,
  }),
  to: dateParam.meta({ description: 'End of the range, inclusive; ISO 8601.' }),
}

const devices = {
  hardware_ids: stringListParam.optional().meta({
    description:
      'Devices by hardware_id, repeated or comma-separated. Required for all users except admins, for whom the ' +
      'default is every device.',
  }),
}

const activity = {
  maxAgeSeconds: numberParam()
    .default(300)
    .meta({
      ...NUMBER,
      description: 'Maximum age in seconds of the latest fix of an active device.',
      default: 300,
      example: 300,
    }),
  lookbackSeconds: numberParam(LOOKBACK_SECONDS_MAX)
    .default(14_400)
    .meta({
      ...NUMBER,
      maximum: LOOKBACK_SECONDS_MAX,
      description: 'Seconds of history to search; a trip that began earlier is reported from there on.',
      default: 14_400,
      example: 14_400,
    }),
}

const tripListQuery = listQuery(
  'asc',
  'Order by startTime: asc is oldest first, desc newest first. GeoJSON is always asc.',
).extend({
  format: choiceParam(['json', 'geojson', 'csv'], 'invalid_format')
    .optional()
    .meta({ description: 'Format, takes precedence over Accept; geojson is a map, csv a file of the trips.' }),
})

export const deviceTripsQuerySchema = tripListQuery.extend({ ...range, ...configQuery })
export const tripsQuerySchema = tripListQuery.extend({ ...range, ...devices, ...configQuery })
export const deviceActiveTripQuerySchema = z.object({ ...activity, ...configQuery })
export const activeTripsQuerySchema = listQuery('asc', 'Order by hardware_id: asc or desc.').extend({
  ...devices,
  ...activity,
  ...configQuery,
})
export const tripSummaryQuerySchema = z.object({
  from: range.from.optional(),
  to: range.to.optional(),
  date: z.string().optional().meta({
    format: 'date',
    description: 'Local date of the site, instead of from and to.',
    example: '2026-05-01',
  }),
  ...configQuery,
})

/** Path parameter `:hardwareId` of a trip path; a short id is accepted as well. */
export const tripDeviceParams = z.object({
  hardwareId: z.string().meta({ description: 'hardware_id or short_id', example: 'cart-07' }),
})

const placeSchema = z
  .object({
    lat: z.number().meta({ description: 'Latitude in degrees.', example: 28.4101234 }),
    long: z.number().meta({ description: 'Longitude in degrees.', example: -81.5801234 }),
  })
  .meta({ id: 'Place' })
const metresSchema = z.number().meta({ description: 'Distance in metres, to 0.1.', example: 2500.4 })
const secondsSchema = z.number().meta({ description: 'Duration in seconds.', example: 600 })
const speedSchema = z.number().meta({ description: 'Speed in km/h, to 0.01.', example: 15.25 })
const countSchema = z.number().int()

export const tripFiguresSchema = z.object({
  startTime: isoSchema.meta({ description: 'Time of the first moving point.' }),
  endTime: isoSchema.meta({
    description: 'Time of the first point of the following stop, or of the last point.',
  }),
  startLocation: placeSchema,
  endLocation: placeSchema,
  distance: metresSchema.meta({ description: 'Metres driven, to 0.1; excludes jitter in pauses.' }),
  duration: secondsSchema.meta({ description: 'Seconds from start to end, including pauses.' }),
  maxSpeed: speedSchema.meta({ description: 'Maximum reported speed in km/h, to 0.01.' }),
  avgSpeed: speedSchema.meta({ description: 'Average speed in km/h, to 0.01; distance divided by duration.' }),
  pointCount: countSchema.meta({ description: 'Number of GPS points from start to end, without spikes.' }),
})
export type TripFiguresJson = z.infer<typeof tripFiguresSchema>

const hardwareId = { hardware_id: hardwareIdSchema }

export const tripSchema = z.object({ ...hardwareId, ...tripFiguresSchema.shape }).meta({ id: 'Trip' })
export type TripJson = z.infer<typeof tripSchema>

export const stopSchema = z
  .object({
    ...hardwareId,
    startTime: isoSchema.meta({ description: 'Time of the first point of the stop.' }),
    endTime: isoSchema.meta({
      description: 'Time of the point at which the stop was left, or of the last point.',
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
  .meta({ id: 'TripConfig', description: 'Parameters in effect.' })

function configValue(name: keyof TripConfig) {
  return z.number().meta({ description: CONFIG_DESCRIPTIONS[name], example: DEFAULT_TRIP_CONFIG[name] })
}

const totalTrips = countSchema.meta({ description: 'Number of trips in the range.', example: 4 })
const totalStops = countSchema.meta({ description: 'Number of stops in the range.', example: 5 })
const totalDistance = metresSchema.meta({ description: 'Distance of all trips in metres, to 0.1.' })
const totalTripDuration = secondsSchema.meta({ description: 'Duration of all trips in seconds.' })
const totalStopDuration = secondsSchema.meta({ description: 'Duration of all stops in seconds.' })

const warnings = {
  warnings: z
    .array(z.string())
    .optional()
    .meta({
      description: 'Readable list of data that may be missing in this response; absent if complete.',
      example: ['records of 1 damaged block(s) of this range may be missing'],
    }),
}

const totalsSchema = z.object({
  totalTrips,
  totalStops,
  totalDistance,
  totalDuration: totalTripDuration,
  totalStopDuration,
  positionsAnalyzed: countSchema.meta({ description: 'Number of GPS records in the range, including spikes.' }),
  ...warnings,
})

const devicesQueried = {
  devicesQueried: countSchema.meta({ description: 'Number of searched devices in scope.', example: 12 }),
}

export const deviceTripsSchema = z.object({
  trips: z.array(tripSchema).meta({ description: 'Trips by startTime, in the requested order.' }),
  stops: z.array(stopSchema).meta({ description: 'Stops by startTime, in the requested order.' }),
  summary: totalsSchema.extend({ configUsed: configUsedSchema }),
})
export type DeviceTripsJson = z.infer<typeof deviceTripsSchema>

export const tripsSchema = z.object({
  trips: z.array(tripSchema).meta({ description: 'Trips by startTime, then hardware_id, in the requested order.' }),
  stops: z.array(stopSchema).meta({ description: 'Stops by startTime, then hardware_id, in the requested order.' }),
  summary: totalsSchema.extend({ ...devicesQueried, configUsed: configUsedSchema }),
})

export const activeTripSchema = z.object({
  ...hardwareId,
  speed: speedSchema.meta({ description: 'Speed at the latest point in km/h, to 0.01.' }),
  last_position_at: isoSchema.meta({ description: 'Time of the latest point that is not a spike.' }),
  last_position_age_seconds: secondsSchema.meta({ description: 'Age of the latest point in seconds.', example: 4 }),
  location: placeSchema,
  trip: tripFiguresSchema.meta({ description: 'Trip so far; it may be shorter than a trip in a list.' }),
})
export type ActiveTripJson = z.infer<typeof activeTripSchema>

const activityUsedSchema = z.object({
  configUsed: configUsedSchema,
  maxAgeSeconds: z.number().meta({ description: 'Value in effect, in seconds.', example: 300 }),
  lookbackSeconds: z.number().meta({ description: 'Value in effect, in seconds.', example: 14_400 }),
})

export const activeTripsSchema = z.object({
  activeTrips: z.array(activeTripSchema).meta({ description: 'Active trips, by hardware_id.' }),
  summary: activityUsedSchema.extend({
    activeCount: countSchema.meta({ description: 'Number of devices on a trip now.', example: 3 }),
    ...devicesQueried,
  }),
})

export const deviceActiveTripSchema = z.object({
  ...hardwareId,
  active: z.boolean().meta({ description: 'True if the device is on a trip now.' }),
  activeTrip: activeTripSchema.optional().meta({ description: 'Active trip; only present if active.' }),
  summary: activityUsedSchema,
})

export const tripSummarySchema = z.object({
  ...hardwareId,
  from: isoSchema.meta({
    description: 'Start of the range: as requested, or the first instant of date; default: 24 hours ago.',
  }),
  to: isoSchema.meta({ description: 'End of the range: as requested, or the last millisecond of date; default: now.' }),
  totalTrips,
  totalStops,
  totalDistance,
  totalTripDuration,
  totalStopDuration,
  maxSpeed: speedSchema.meta({ description: 'Highest speed of all trips in km/h; 0 without trips.' }),
  avgTripDistance: metresSchema.meta({ description: 'Average distance in metres, to 0.1; 0 without trips.' }),
  positionsAnalyzed: countSchema.meta({ description: 'Number of GPS records in the range, including spikes.' }),
  ...warnings,
})
export type TripSummaryJson = z.infer<typeof tripSummarySchema>

const positionSchema = z.array(z.number()).meta({ description: 'Longitude, then latitude, in degrees.' })

const tripFeatureSchema = z.object({
  type: z.literal('Feature'),
  geometry: z.object({
    type: z.literal('LineString'),
    coordinates: z.array(positionSchema).meta({ description: 'Points of the trip, without spikes.' }),
  }),
  properties: tripSchema.extend({
    kind: z.literal('trip').meta({ description: 'Distinguishes a trip from a stop.' }),
    coordTimes: z.array(isoSchema).meta({ description: 'Times of the coordinates.' }),
  }),
})

const stopFeatureSchema = z.object({
  type: z.literal('Feature'),
  geometry: z.object({ type: z.literal('Point'), coordinates: positionSchema }),
  properties: stopSchema.extend({ kind: z.literal('stop').meta({ description: 'Distinguishes a stop from a trip.' }) }),
})

/** Trips and stops as GeoJSON. Source: RFC 7946 */
export const tripFeaturesSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    features: z
      .array(z.union([tripFeatureSchema, stopFeatureSchema]))
      .meta({ description: 'Features by hardware_id; for each device the trips, then the stops, by startTime.' }),
  })
  .meta({ id: 'TripFeatures' })
