import { z } from 'zod'
import { dateParam, isoSchema, offsetParam, pageLimitParam, paginationSchema } from './params.ts'

export const lockKindSchema = z.enum(['lock', 'unlock'])
export const lockSourceSchema = z.enum(['rfid', 'keypad', 'key', 'remote'])
export type LockKind = z.infer<typeof lockKindSchema>
export type LockSource = z.infer<typeof lockSourceSchema>

export const lockEventSchema = z.object({
  event_id: z.string(),
  hardware_id: z.string(),
  event: lockKindSchema,
  timestamp: isoSchema,
  source: lockSourceSchema,
  code: z
    .string()
    .optional()
    .meta({ description: 'RFID tag or keypad code; only with source rfid or keypad.' }),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'From the command; only with source remote.' }),
})

export type LockEventJson = z.infer<typeof lockEventSchema>

export const lockEventListSchema = z.object({
  events: z.array(lockEventSchema),
  pagination: paginationSchema,
})

export const lockEventQuerySchema = z.object({
  hardware_id: z.string().optional(),
  source: lockSourceSchema.optional(),
  event: lockKindSchema.optional(),
  code: z.string().optional(),
  from: dateParam.optional(),
  to: dateParam.optional(),
  limit: pageLimitParam,
  offset: offsetParam,
})
