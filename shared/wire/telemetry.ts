import { z } from 'zod'
import { dateParam, isoSchema } from './params.ts'

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

/** `limit` stays text here: with `from` and `to` it is ignored, even an invalid one. */
export const historyQuerySchema = z.object({
  limit: z
    .string()
    .optional()
    .meta({ description: '1 to 10000, default 100; ignored when from and to are given.' }),
  from: dateParam.optional(),
  to: dateParam.optional(),
  order: z.enum(['asc', 'desc']).default('desc').meta({ description: 'By time; newest first unless told.' }),
})

export const telemetryStatsSchema = z.object({
  hardware_id: z.string(),
  gps: z.number().int(),
  battery: z.number().int(),
})
