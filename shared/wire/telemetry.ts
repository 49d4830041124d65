import { z } from 'zod'
import { choiceParam, dateParam, isoSchema, listQuery } from './schema/params.ts'

const recordBase = {
  _id: z.string().meta({ description: 'The same for the same record for ever.', example: 'k4Jx0Zq1mB3uYw' }),
  device_id: z.string().meta({ description: 'The short_id of the device.', example: 'k3v9x2qa' }),
  hardware_id: z.string().meta({ description: 'The device.', example: 'cart-07' }),
  timestamp: isoSchema.meta({ description: 'When it was measured.' }),
}

export const gpsRecordSchema = z
  .object({
    ...recordBase,
    lat: z.number().min(-90).max(90).meta({ description: 'Latitude, degrees, WGS 84.', example: 28.4101234 }),
    long: z.number().min(-180).max(180).meta({ description: 'Longitude, degrees, WGS 84.', example: -81.5801234 }),
    speed: z.number().min(0).optional().meta({ description: 'km/h; absent if it was not sent.', example: 12.4 }),
  })
  .meta({ id: 'GpsRecord' })

/** GPS records as points on a map. Source: RFC 7946 */
export const gpsFeaturesSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    features: z.array(
      z.object({
        type: z.literal('Feature'),
        id: recordBase._id,
        geometry: z.object({
          type: z.literal('Point'),
          coordinates: z
            .array(z.number())
            .length(2)
            .meta({ description: 'Longitude, then latitude, degrees.', example: [-81.5801234, 28.4101234] }),
        }),
        properties: z.object({
          device_id: recordBase.device_id,
          hardware_id: recordBase.hardware_id,
          timestamp: recordBase.timestamp,
          speed: gpsRecordSchema.shape.speed,
        }),
      }),
    ),
  })
  .meta({ id: 'GpsFeatures' })

export const batteryRecordSchema = z
  .object({
    ...recordBase,
    battery_voltage: z.number().min(0).meta({ description: 'Volts.', example: 50.9 }),
  })
  .meta({ id: 'BatteryRecord' })

export const HISTORY_LIMIT_MAX = 10_000

/** How GPS history can be written, in the order of preference when the caller has none. */
export const GPS_FORMATS = ['json', 'csv', 'ndjson', 'gpx', 'geojson'] as const
export const BATTERY_FORMATS = ['json', 'csv', 'ndjson'] as const
export type HistoryFormat = (typeof GPS_FORMATS)[number]

/** `limit` stays as it came: with `from` and `to` it is ignored, even an invalid one or two of them. */
function historyQuerySchemaOf<Format extends HistoryFormat>(formats: readonly Format[]) {
  return z.object({
    limit: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .meta({
        type: 'integer',
        minimum: 1,
        maximum: HISTORY_LIMIT_MAX,
        default: 100,
        description: 'The number of newest records; ignored when from and to are given.',
      }),
    from: dateParam.optional().meta({ description: 'ISO 8601, included. Together with to: then all records between.' }),
    to: dateParam.optional().meta({ description: 'ISO 8601, included. Together with from.' }),
    order: z.enum(['asc', 'desc']).default('desc').meta({
      description: 'The order by time, by default newest first. GPX is always oldest first.',
    }),
    format: choiceParam(formats, 'invalid_format')
      .optional()
      .meta({ description: 'Wins over the Accept header; json when neither says anything.' }),
  })
}

export const gpsHistoryQuerySchema = historyQuerySchemaOf(GPS_FORMATS)
export const batteryHistoryQuerySchema = historyQuerySchemaOf(BATTERY_FORMATS)

const gpsCountSchema = z.number().int().meta({ description: 'GPS records.', example: 20411 })
const batteryCountSchema = z.number().int().meta({ description: 'Battery records.', example: 1703 })

export const telemetryStatsSchema = z.object({
  hardware_id: z.string().meta({ description: 'The device.', example: 'cart-07' }),
  gps: gpsCountSchema,
  battery: batteryCountSchema,
})

/** `GET /telemetry/months` */
export const storedMonthsQuerySchema = listQuery('asc', 'By month: asc is oldest first.')

export const storedMonthsSchema = z
  .object({
    months: z.array(
      z.object({
        month: z.string().meta({ description: 'By UTC.', example: '2026-05' }),
        bytes: z.number().int().meta({
          description: 'About: the blocks of the month are counted, and only some of all looked at for their size.',
          example: 412_000_000,
        }),
      }),
    ),
  })
  .meta({ id: 'StoredMonths' })

/** Strict: a condition that is not known here must not be taken for none. */
export const purgeSchema = z.strictObject({
  older_than_days: z.number().int().min(1).max(3650).meta({ description: 'Days of 24 hours.', example: 365 }),
})

const purgedSchema = z.object({ gps: gpsCountSchema, battery: batteryCountSchema })

export const purgedFleetSchema = z.object({
  success: z.literal(true),
  cutoff_date: isoSchema.meta({ description: 'What was measured before this is gone.' }),
  purged: purgedSchema,
})

export const purgedDeviceSchema = z.object({ success: z.literal(true), purged: purgedSchema })
export const deletedRecordsSchema = z.object({
  success: z.literal(true),
  deleted: z.number().int().meta({ description: 'Records.', example: 20411 }),
})
