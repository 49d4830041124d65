import { z } from 'zod'
import { dateParam, hardwareIdSchema, isoSchema } from './schema/params.ts'

/** Maximum range of a track: a local day of 25 hours. */
export const TRACK_RANGE_MAX_MS = 25 * 3_600_000
/** Maximum range of one replay request. */
export const REPLAY_RANGE_MAX_MS = 2 * 3_600_000

const columnSchema = z.array(z.number().int())

const gpsColumnsSchema = z
  .object({
    at: columnSchema.meta({ description: 'Times in milliseconds since from.', example: [500, 1000, 1000] }),
    lat: columnSchema.meta({ description: 'Latitudes in 1e-7 degrees.', example: [284101234, 210, 215] }),
    long: columnSchema.meta({ description: 'Longitudes in 1e-7 degrees.', example: [-815801234, 12, 11] }),
    speed: columnSchema.meta({
      description: 'Speeds in thousandths of km/h; -1 if the device reported none.',
      example: [-1, 12501, 100],
    }),
  })
  .meta({
    id: 'GpsColumns',
    description:
      'Positions, oldest first, as columns of equal length. Each number is the difference from the previous one in ' +
      'its column, the first from 0.',
  })

const batteryColumnsSchema = z
  .object({
    at: columnSchema.meta({ description: 'Times in milliseconds since from.', example: [500, 60_000] }),
    voltage: columnSchema.meta({ description: 'Voltages in millivolts.', example: [50_900, -20] }),
  })
  .meta({ id: 'BatteryColumns', description: 'Voltages, in the same form as the positions.' })

const deviceSchema = {
  hardware_id: hardwareIdSchema,
  device_type: z.string().meta({
    description: 'Device type; a teebox takes precedence for its cart.',
    example: 'teebox',
  }),
}
const rangeSchema = {
  from: isoSchema.meta({ description: 'Start of the range, inclusive.' }),
  to: isoSchema.meta({ description: 'End of the range, inclusive.' }),
}
const warnings = z
  .array(z.string())
  .optional()
  .meta({ description: 'Readable list of data that may be missing because of damaged blocks.' })

export const cartTrackQuerySchema = z.object({
  from: dateParam.optional().meta({ description: 'Start of the range, inclusive; ISO 8601.' }),
  to: dateParam.optional().meta({ description: 'End of the range, inclusive; ISO 8601, at most 25 hours after from.' }),
  date: z.string().optional().meta({
    format: 'date',
    description: 'Local date of the site, instead of from and to.',
    example: '2026-05-01',
  }),
})

export const cartTrackSchema = z
  .object({
    cart: z.string().meta({ description: 'Name of the cart.', example: '17' }),
    ...rangeSchema,
    devices: z
      .array(z.object({ ...deviceSchema, gps: gpsColumnsSchema, battery: batteryColumnsSchema }))
      .meta({ description: 'Current devices of the cart in scope, by hardware_id.' }),
    warnings,
  })
  .meta({ id: 'CartTrack' })
export type CartTrackJson = z.infer<typeof cartTrackSchema>

export const replayQuerySchema = z.object({
  from: dateParam.meta({ description: 'Start of the range, inclusive; ISO 8601.' }),
  to: dateParam.meta({ description: 'End of the range, inclusive; ISO 8601, at most two hours after from.' }),
})

export const replaySchema = z
  .object({
    ...rangeSchema,
    devices: z
      .array(
        z.object({
          ...deviceSchema,
          cart: z.string().meta({ description: 'Current cart of the device.', example: '17' }),
          gps: gpsColumnsSchema,
        }),
      )
      .meta({
        description:
          'Devices in scope that have a position in the range, or in the 24 hours before it: the last of these ' +
          'comes first then, at a negative time.',
      }),
    warnings,
  })
  .meta({ id: 'Replay' })
export type ReplayJson = z.infer<typeof replaySchema>
