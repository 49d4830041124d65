import { z } from 'zod'
import { isoSchema } from './params.ts'

export const subscriptionsSchema = z
  .object({
    totalConnections: z.number().int().meta({ description: 'Clients of /realtime.', example: 3 }),
    totalDevicesWatched: z
      .number()
      .int()
      .meta({ description: 'Devices at least one of them watches.', example: 2 }),
    subscriptionsByDevice: z
      .record(z.string(), z.number().int())
      .meta({ description: 'How many watch each.', example: { 'cart-07': 2, 'cart-08': 1 } }),
  })
  .meta({ id: 'Subscriptions', description: 'Who watches what on /realtime.' })

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'error']).meta({ description: 'error: nothing can be stored.' }),
    timestamp: isoSchema,
    detail: z.string().optional().meta({ description: 'What is wrong, for admins.' }),
    clock: z
      .literal('not_set')
      .optional()
      .meta({ description: 'The system clock cannot be right: times are a guess. For admins.' }),
    subscriptions: subscriptionsSchema.optional().meta({ description: 'For admins.' }),
  })
  .meta({ id: 'Health' })

export const statsSchema = z
  .object({
    devices: z.number().int().meta({ description: 'Registered devices.', example: 84 }),
    telemetry: z
      .object({ gps: z.number().int(), battery: z.number().int() })
      .meta({ description: 'Records kept.', example: { gps: 1200411, battery: 100703 } }),
    commands: z.number().int().meta({ description: 'Commands kept.', example: 512 }),
    subscriptions: subscriptionsSchema,
  })
  .meta({ id: 'Stats' })
