import { z } from 'zod'

/** Maximum number of records per request: one transaction, which delays devices only briefly. */
export const IMPORT_RECORDS_MAX = 5000

const timestampSchema = z.string().meta({
  format: 'date-time',
  description: 'Time of the measurement: ISO 8601, UTC unless it has an offset.',
  example: '2026-05-01T08:30:00.000Z',
})

const importedGpsSchema = z.strictObject({
  timestamp: timestampSchema,
  lat: z.number().meta({ description: 'Latitude in degrees, WGS 84.', example: 28.4101234 }),
  long: z.number().meta({ description: 'Longitude in degrees, WGS 84.', example: -81.5801234 }),
  speed: z.number().optional().meta({ description: 'Speed in km/h.', example: 12.4 }),
})

const importedBatterySchema = z.strictObject({
  timestamp: timestampSchema,
  battery_voltage: z.number().meta({ description: 'Voltage in volts.', example: 50.9 }),
})

export type ImportedGps = z.infer<typeof importedGpsSchema>
export type ImportedBattery = z.infer<typeof importedBatterySchema>

/** Types define the form of a request and must match; values are data, and unusable ones are dropped. */
export const telemetryImportSchema = z
  .strictObject({
    gps: z.array(importedGpsSchema).max(IMPORT_RECORDS_MAX).default([]).meta({
      description: 'GPS records in any order.',
    }),
    battery: z.array(importedBatterySchema).max(IMPORT_RECORDS_MAX).default([]).meta({
      description: 'Battery records in any order.',
    }),
  })
  .superRefine(({ gps, battery }, ctx) => {
    if (gps.length + battery.length <= IMPORT_RECORDS_MAX) return
    const message = `may have ${IMPORT_RECORDS_MAX} records in all`
    ctx.addIssue({ code: 'custom', message, params: { code: 'too_many_records' } })
  })

const countsSchema = z.object({
  gps: z.number().int().meta({ description: 'Number of GPS records.', example: 498 }),
  battery: z.number().int().meta({ description: 'Number of battery records.', example: 0 }),
})

export const importedTelemetrySchema = z.object({
  success: z.literal(true),
  stored: countsSchema.meta({ description: 'Number of new records, which are on disk.' }),
  duplicates: countsSchema.meta({
    description:
      'Number of records for which the device has one of the same stream and millisecond already, which stays ' +
      'unchanged.',
  }),
  dropped: z
    .array(
      z.object({
        reason: z.string().meta({ description: 'Reason, as for telemetry from devices.', example: 'implausible_time' }),
        count: z.number().int().meta({ description: 'Number of records.', example: 2 }),
      }),
    )
    .meta({
      description: 'Unusable data by reason, most frequent first. For invalid_speed only the speed is dropped.',
    }),
})
