import { z } from 'zod'
import { isoSchema } from './params.ts'

export const subscriptionsSchema = z.object({
  totalConnections: z.number().int(),
  totalDevicesWatched: z.number().int(),
  subscriptionsByDevice: z.record(z.string(), z.number().int()),
})

export const healthSchema = z.object({
  status: z.enum(['ok', 'error']),
  timestamp: isoSchema,
  detail: z.string().optional().meta({ description: 'What is wrong, for admins.' }),
  clock: z
    .literal('not_set')
    .optional()
    .meta({ description: 'The system clock cannot be right: times are a guess. For admins.' }),
  subscriptions: subscriptionsSchema.optional().meta({ description: 'For admins.' }),
})

export const statsSchema = z.object({
  devices: z.number().int(),
  telemetry: z.object({ gps: z.number().int(), battery: z.number().int() }),
  commands: z.number().int(),
  subscriptions: subscriptionsSchema,
})
