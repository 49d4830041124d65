import { z } from 'zod'
import { choiceParam, dateParam, isoSchema, listQuery } from './schema/params.ts'

const recordBase = {
  _id: z.string().meta({ description: 'Permanent id of the record.', example: 'k4Jx0Zq1mB3uYw' }),
  device_id: z.string().meta({ description: 'short_id of the device.', example: 'k3v9x2qa' }),
  hardware_id: z.string().meta({ description: 'Device of the record.', example: 'cart-07' }),
  timestamp: isoSchema.meta({ description: 'Time of the measurement.' }),
}

export const gpsRecordSchema = z
  .object({
    ...recordBase,
    lat: z.number().min(-90).max(90).meta({ description: 'Latitude in degrees, WGS 84.', example: 28.4101234 }),
    long: z.number().min(-180).max(180).meta({ description: 'Longitude in degrees, WGS 84.', example: -81.5801234 }),
    speed: z.number().min(0).optional().meta({
      description: 'Speed in km/h; absent if it was not sent.',
      example: 12.4,
    }),
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
            .meta({ description: 'Longitude, then latitude, in degrees.', example: [-81.5801234, 28.4101234] }),
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
    battery_voltage: z.number().min(0).meta({ description: 'Voltage in volts.', example: 50.9 }),
  })
  .meta({ id: 'BatteryRecord' })

export const HISTORY_LIMIT_MAX = 10_000

/** Formats of GPS history, in the order of preference if the caller has none. */
export const GPS_FORMATS = ['json', 'csv', 'ndjson', 'gpx', 'geojson'] as const
export const BATTERY_FORMATS = ['json', 'csv', 'ndjson'] as const
export type HistoryFormat = (typeof GPS_FORMATS)[number]

/** `limit` stays unparsed: with `from` and `to` it is ignored, even if it is invalid or repeated. */
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
        description: 'Number of latest records; ignored if from and to are given.',
      }),
    from: dateParam.optional().meta({
      description: 'Start of the range, inclusive, ISO 8601. Together with to, all records in between are returned.',
    }),
    to: dateParam.optional().meta({ description: 'End of the range, inclusive, ISO 8601. Together with from.' }),
    order: z.enum(['asc', 'desc']).default('desc').meta({
      description: 'Order by time; default: newest first. GPX is always oldest first.',
    }),
    format: choiceParam(formats, 'invalid_format')
      .optional()
      .meta({ description: 'Format, takes precedence over the Accept header; default: json.' }),
  })
}

export const gpsHistoryQuerySchema = historyQuerySchemaOf(GPS_FORMATS)
export const batteryHistoryQuerySchema = historyQuerySchemaOf(BATTERY_FORMATS)

const gpsCountSchema = z.number().int().meta({ description: 'Number of GPS records.', example: 20411 })
const batteryCountSchema = z.number().int().meta({ description: 'Number of battery records.', example: 1703 })

export const telemetryStatsSchema = z.object({
  hardware_id: z.string().meta({ description: 'Device of the records.', example: 'cart-07' }),
  gps: gpsCountSchema,
  battery: batteryCountSchema,
})

/** `GET /telemetry/months` */
export const storedMonthsQuerySchema = listQuery('asc', 'Order by month: asc is oldest first.')

export const storedMonthsSchema = z
  .object({
    months: z.array(
      z.object({
        month: z.string().meta({ description: 'Month in UTC.', example: '2026-05' }),
        bytes: z.number().int().meta({
          description: 'Estimated size: all blocks of the month are counted, and the size of a sample is measured.',
          example: 412_000_000,
        }),
      }),
    ),
  })
  .meta({ id: 'StoredMonths' })

/** Strict: an unknown condition must not be ignored, because that would delete more. */
export const purgeSchema = z.strictObject({
  older_than_days: z.number().int().min(1).max(3650).meta({ description: 'Age in days of 24 hours.', example: 365 }),
})

const purgedSchema = z.object({ gps: gpsCountSchema, battery: batteryCountSchema })

export const purgedFleetSchema = z.object({
  success: z.literal(true),
  cutoff_date: isoSchema.meta({ description: 'Time before which all measurements were deleted.' }),
  purged: purgedSchema,
})

export const purgedDeviceSchema = z.object({ success: z.literal(true), purged: purgedSchema })
export const deletedRecordsSchema = z.object({
  success: z.literal(true),
  deleted: z.number().int().meta({ description: 'Number of deleted records.', example: 20411 }),
})
