import { z } from 'zod'
import { DEFAULT_TRIP_CONFIG, type TripConfig } from '../trip-config.ts'
import { dateParam, isoSchema, numberParam, stringListParam } from './params.ts'

const RANGE_DAYS_MAX = 31
/** From `from` to `to`; exactly this much is allowed. */
export const TRIP_RANGE_MAX_MS = RANGE_DAYS_MAX * 86_400_000
export const TRIP_DEVICES_MAX = 50
const LOOKBACK_SECONDS_MAX = RANGE_DAYS_MAX * 86_400

/** How the OpenAPI document shows what is text in a query until it is read. */
const NUMBER = { type: 'number', minimum: 0 } as const

const CONFIG_DESCRIPTIONS: Record<keyof TripConfig, string> = {
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

/** The parameters a caller may set, each with the default it has when left out. */
const configQuery = {
  speedThreshold: configParam('speedThreshold'),
  minimalTripDuration: configParam('minimalTripDuration'),
  minimalTripDistance: configParam('minimalTripDistance'),
  minimalParkingDuration: configParam('minimalParkingDuration'),
  minimalNoDataDuration: configParam('minimalNoDataDuration'),
  minimalAvgSpeed: configParam('minimalAvgSpeed'),
  maxAcceleration: configParam('maxAcceleration'),
} satisfies Record<keyof TripConfig, z.ZodType<number>>

function configParam(name: keyof TripConfig) {
  return numberParam()
    .default(DEFAULT_TRIP_CONFIG[name])
    .meta({
      ...NUMBER,
      description: CONFIG_DESCRIPTIONS[name],
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
      description:
        'Seconds of history that are looked at; a trip that began before is reported from there on.',
      default: 14_400,
      example: 14_400,
    }),
}

export const deviceTripsQuerySchema = z.object({ ...range, ...configQuery })
export const tripsQuerySchema = z.object({ ...range, ...devices, ...configQuery })
export const deviceActiveTripQuerySchema = z.object({ ...activity, ...configQuery })
export const activeTripsQuerySchema = z.object({ ...devices, ...activity, ...configQuery })
export const tripSummaryQuerySchema = z.object({
  from: range.from.optional(),
  to: range.to.optional(),
  ...configQuery,
})

const placeSchema = z.object({ lat: z.number(), long: z.number() }).meta({ description: 'Degrees.' })
const metresSchema = z.number().meta({ description: 'Metres, to 0.1.', example: 2500.4 })
const secondsSchema = z.number().meta({ description: 'Seconds.', example: 600 })
const speedSchema = z.number().meta({ description: 'km/h, to 0.01.', example: 15.25 })
const countSchema = z.number().int()

export const tripFiguresSchema = z.object({
  startTime: isoSchema,
  endTime: isoSchema,
  startLocation: placeSchema,
  endLocation: placeSchema,
  distance: metresSchema,
  duration: secondsSchema.meta({ description: 'Seconds from start to end, pauses included.' }),
  maxSpeed: speedSchema,
  avgSpeed: speedSchema,
  pointCount: countSchema.meta({ description: 'GPS points from start to end, without spikes.' }),
})
export type TripFiguresJson = z.infer<typeof tripFiguresSchema>

const hardwareId = { hardware_id: z.string() }

export const tripSchema = z.object({ ...hardwareId, ...tripFiguresSchema.shape })
export type TripJson = z.infer<typeof tripSchema>

export const stopSchema = z.object({
  ...hardwareId,
  startTime: isoSchema,
  endTime: isoSchema,
  location: placeSchema.meta({ description: 'Where the stop began, in degrees.' }),
  duration: secondsSchema,
})
export type StopJson = z.infer<typeof stopSchema>

const configUsedSchema = z
  .object({
    speedThreshold: z.number(),
    minimalTripDuration: z.number(),
    minimalTripDistance: z.number(),
    minimalParkingDuration: z.number(),
    minimalNoDataDuration: z.number(),
    minimalAvgSpeed: z.number(),
    maxAcceleration: z.number(),
  } satisfies Record<keyof TripConfig, z.ZodType<number>>)
  .meta({ description: 'The parameters in effect.' })

const totalsSchema = z.object({
  totalTrips: countSchema,
  totalStops: countSchema,
  totalDistance: metresSchema,
  totalDuration: secondsSchema,
  totalStopDuration: secondsSchema,
  positionsAnalyzed: countSchema.meta({ description: 'GPS records in the range, spikes included.' }),
})

const devicesQueried = { devicesQueried: countSchema }

export const deviceTripsSchema = z.object({
  trips: z.array(tripSchema).meta({ description: 'By startTime.' }),
  stops: z.array(stopSchema).meta({ description: 'By startTime.' }),
  summary: totalsSchema.extend({ configUsed: configUsedSchema }),
})
export type DeviceTripsJson = z.infer<typeof deviceTripsSchema>

export const tripsSchema = z.object({
  trips: z.array(tripSchema).meta({ description: 'By startTime, then hardware_id.' }),
  stops: z.array(stopSchema).meta({ description: 'By startTime, then hardware_id.' }),
  summary: totalsSchema.extend({ ...devicesQueried, configUsed: configUsedSchema }),
})

export const activeTripSchema = z.object({
  ...hardwareId,
  speed: speedSchema,
  last_position_at: isoSchema,
  last_position_age_seconds: secondsSchema,
  location: placeSchema,
  trip: tripFiguresSchema,
})
export type ActiveTripJson = z.infer<typeof activeTripSchema>

const activityUsedSchema = z.object({
  configUsed: configUsedSchema,
  maxAgeSeconds: z.number(),
  lookbackSeconds: z.number(),
})

export const activeTripsSchema = z.object({
  activeTrips: z.array(activeTripSchema).meta({ description: 'By hardware_id.' }),
  summary: activityUsedSchema.extend({ activeCount: countSchema, ...devicesQueried }),
})

export const deviceActiveTripSchema = z.object({
  ...hardwareId,
  active: z.boolean(),
  activeTrip: activeTripSchema.optional().meta({ description: 'Only when active.' }),
  summary: activityUsedSchema,
})

export const tripSummarySchema = z.object({
  ...hardwareId,
  from: isoSchema,
  to: isoSchema,
  totalTrips: countSchema,
  totalStops: countSchema,
  totalDistance: metresSchema,
  totalTripDuration: secondsSchema,
  totalStopDuration: secondsSchema,
  maxSpeed: speedSchema,
  avgTripDistance: metresSchema,
  positionsAnalyzed: countSchema,
})
export type TripSummaryJson = z.infer<typeof tripSummarySchema>
