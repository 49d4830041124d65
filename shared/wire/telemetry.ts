import { z } from 'zod'
import { choiceParam, dateParam, isoSchema } from './params.ts'

export const gpsRecordSchema = z.object({
  _id: z.string(),
  device_id: z.string().meta({ description: 'The short_id of the device.' }),
  hardware_id: z.string(),
  timestamp: isoSchema,
  lat: z.number(),
  long: z.number(),
  speed: z.number().optional().meta({ description: 'km/h' }),
})

export const batteryRecordSchema = z.object({
  _id: z.string(),
  device_id: z.string().meta({ description: 'The short_id of the device.' }),
  hardware_id: z.string(),
  timestamp: isoSchema,
  battery_voltage: z.number().meta({ description: 'volts' }),
})

export const HISTORY_LIMIT_MAX = 10_000

/** How GPS history can be written, in the order of preference when the caller has none. */
export const GPS_FORMATS = ['json', 'csv', 'ndjson', 'gpx'] as const
export const BATTERY_FORMATS = ['json', 'csv', 'ndjson'] as const
export type HistoryFormat = (typeof GPS_FORMATS)[number]

/** `limit` stays as it came: with `from` and `to` it is ignored, even an invalid one or two of them. */
export function historyQuerySchema<Format extends HistoryFormat>(formats: readonly Format[]) {
  return z.object({
    limit: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .meta({ description: '1 to 10000, default 100; ignored when from and to are given.' }),
    from: dateParam.optional(),
    to: dateParam.optional(),
    order: z.enum(['asc', 'desc']).default('desc').meta({
      description: 'By time; newest first unless told. GPX is always written oldest first.',
    }),
    format: choiceParam(formats, 'invalid_format')
      .optional()
      .meta({ description: `One of ${formats.join(', ')}; wins over the Accept header.` }),
  })
}

export const telemetryStatsSchema = z.object({
  hardware_id: z.string(),
  gps: z.number().int(),
  battery: z.number().int(),
})

/** Strict: a condition that is not known here must not be taken for none. */
export const purgeSchema = z.strictObject({
  older_than_days: z.number().int().min(1).max(3650).meta({ description: 'Days of 24 hours.' }),
})

const purgedSchema = z.object({ gps: z.number().int(), battery: z.number().int() })

export const purgedFleetSchema = z.object({
  success: z.literal(true),
  cutoff_date: isoSchema.meta({ description: 'What was measured before this is gone.' }),
  purged: purgedSchema,
})

export const purgedDeviceSchema = z.object({ success: z.literal(true), purged: purgedSchema })
export const deletedRecordsSchema = z.object({ success: z.literal(true), deleted: z.number().int() })
