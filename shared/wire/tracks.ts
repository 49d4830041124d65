import { z } from 'zod'
import { dateParam, hardwareIdSchema, isoSchema } from './schema/params.ts'

/** A local day of 25 hours is the longest that a track is of. */
export const TRACK_RANGE_MAX_MS = 25 * 3_600_000
/** What a replay reads at once. */
export const REPLAY_RANGE_MAX_MS = 2 * 3_600_000

const columnSchema = z.array(z.number().int())

const gpsColumnsSchema = z
  .object({
    at: columnSchema.meta({ description: 'Milliseconds since from.', example: [500, 1000, 1000] }),
    lat: columnSchema.meta({ description: '1e-7 degrees.', example: [284101234, 210, 215] }),
    long: columnSchema.meta({ description: '1e-7 degrees.', example: [-815801234, 12, 11] }),
    speed: columnSchema.meta({
      description: 'Thousandths of km/h; -1 where the device said none.',
      example: [-1, 12501, 100],
    }),
  })
  .meta({
    id: 'GpsColumns',
    description:
      'Positions, oldest first, as columns of equal length. Each number is the difference from the one before it ' +
      'in its column, the first from 0.',
  })

const batteryColumnsSchema = z
  .object({
    at: columnSchema.meta({ description: 'Milliseconds since from.', example: [500, 60_000] }),
    voltage: columnSchema.meta({ description: 'Millivolts.', example: [50_900, -20] }),
  })
  .meta({ id: 'BatteryColumns', description: 'Voltages, in the same form as the positions.' })

const deviceSchema = {
  hardware_id: hardwareIdSchema,
  device_type: z.string().meta({ description: 'A teebox speaks for its cart.', example: 'teebox' }),
}
const rangeSchema = {
  from: isoSchema.meta({ description: 'Included.' }),
  to: isoSchema.meta({ description: 'Included.' }),
}
const warnings = z
  .array(z.string())
  .optional()
  .meta({ description: 'What may be missing because it lies in damaged blocks.' })

export const cartTrackQuerySchema = z.object({
  from: dateParam.optional().meta({ description: 'ISO 8601, included.' }),
  to: dateParam.optional().meta({ description: 'ISO 8601, included; at most 25 hours after from.' }),
  date: z.string().optional().meta({
    format: 'date',
    description: 'A day by the clocks of the site, in place of from and to.',
    example: '2026-05-01',
  }),
})

export const cartTrackSchema = z
  .object({
    cart: z.string().meta({ description: 'What the cart is called.', example: '17' }),
    ...rangeSchema,
    devices: z
      .array(z.object({ ...deviceSchema, gps: gpsColumnsSchema, battery: batteryColumnsSchema }))
      .meta({ description: 'The devices that are in the cart now, those in scope, by hardware_id.' }),
    warnings,
  })
  .meta({ id: 'CartTrack' })
export type CartTrackJson = z.infer<typeof cartTrackSchema>

export const replayQuerySchema = z.object({
  from: dateParam.meta({ description: 'ISO 8601, included.' }),
  to: dateParam.meta({ description: 'ISO 8601, included; at most two hours after from.' }),
})

export const replaySchema = z
  .object({
    ...rangeSchema,
    devices: z
      .array(
        z.object({
          ...deviceSchema,
          cart: z.string().meta({ description: 'The cart that it is in now.', example: '17' }),
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
