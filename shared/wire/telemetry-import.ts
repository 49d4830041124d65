import { z } from 'zod'

/** Records of one request: a transaction in which devices wait only for a moment. */
export const IMPORT_RECORDS_MAX = 5000

const timestampSchema = z.string().meta({
  format: 'date-time',
  description: 'When it was measured: ISO 8601, UTC unless it has an offset.',
  example: '2026-05-01T08:30:00.000Z',
})

const importedGpsSchema = z.strictObject({
  timestamp: timestampSchema,
  lat: z.number().meta({ description: 'Latitude, degrees, WGS 84.', example: 28.4101234 }),
  long: z.number().meta({ description: 'Longitude, degrees, WGS 84.', example: -81.5801234 }),
  speed: z.number().optional().meta({ description: 'km/h.', example: 12.4 }),
})

const importedBatterySchema = z.strictObject({
  timestamp: timestampSchema,
  battery_voltage: z.number().meta({ description: 'Volts.', example: 50.9 }),
})

export type ImportedGps = z.infer<typeof importedGpsSchema>
export type ImportedBattery = z.infer<typeof importedBatterySchema>

/** Types are the form of a request and must be right; values are data, and what is unusable of them is dropped. */
export const telemetryImportSchema = z
  .strictObject({
    gps: z.array(importedGpsSchema).max(IMPORT_RECORDS_MAX).default([]).meta({ description: 'In any order.' }),
    battery: z.array(importedBatterySchema).max(IMPORT_RECORDS_MAX).default([]).meta({ description: 'In any order.' }),
  })
  .superRefine(({ gps, battery }, ctx) => {
    if (gps.length + battery.length <= IMPORT_RECORDS_MAX) return
    const message = `may have ${IMPORT_RECORDS_MAX} records in all`
    ctx.addIssue({ code: 'custom', message, params: { code: 'too_many_records' } })
  })

const countsSchema = z.object({
  gps: z.number().int().meta({ description: 'GPS records.', example: 498 }),
  battery: z.number().int().meta({ description: 'Battery records.', example: 0 }),
})

export const importedTelemetrySchema = z.object({
  success: z.literal(true),
  stored: countsSchema.meta({ description: 'New, and on the disk.' }),
  duplicates: countsSchema.meta({
    description: 'The device has a record of the same stream and millisecond; it stays as it is.',
  }),
  dropped: z
    .array(
      z.object({
        reason: z.string().meta({ description: 'As for telemetry of devices.', example: 'implausible_time' }),
        count: z.number().int().meta({ description: 'The number of records.', example: 2 }),
      }),
    )
    .meta({ description: 'What could not be used, most often first. invalid_speed costs only the speed.' }),
})
