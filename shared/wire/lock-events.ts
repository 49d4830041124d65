import { z } from 'zod'
import { dateParam, eventPageQuery, isoSchema, paginationSchema, removedSchema } from './schema/params.ts'

export const lockKindSchema = z.enum(['lock', 'unlock'])
export const lockSourceSchema = z.enum(['rfid', 'keypad', 'key', 'remote'])
export type LockKind = z.infer<typeof lockKindSchema>
export type LockSource = z.infer<typeof lockSourceSchema>

export const lockEventSchema = z
  .object({
    event_id: z.string().meta({ description: 'Id of the event.', example: '4Xk0Zq1mB3uYw' }),
    hardware_id: z.string().meta({ description: 'Device of the event.', example: 'cart-07' }),
    event: lockKindSchema,
    timestamp: isoSchema.meta({ description: 'Time of the event.' }),
    source: lockSourceSchema.meta({ description: 'Source: a tag, a code, a key, or this API.' }),
    code: z.string().optional().meta({
      description:
        'RFID tag or keypad code; only with source rfid or keypad. Users with mask_codes see its last two characters.',
      example: '04A1B2C3',
    }),
    metadata: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Metadata of the command; only with source remote.', example: { name: 'Jane' } }),
    device_removed: removedSchema,
  })
  .meta({ id: 'LockEvent' })

export type LockEventJson = z.infer<typeof lockEventSchema>

export const lockEventListSchema = z
  .object({
    events: z.array(lockEventSchema),
    pagination: paginationSchema,
  })
  .meta({ id: 'LockEventList' })

export const lockEventQuerySchema = eventPageQuery('event_id').extend({
  hardware_id: z.string().optional().meta({
    description: 'Filter by device, since its registration; for a deleted device, everything that is kept.',
    example: 'cart-07',
  }),
  source: lockSourceSchema.optional().meta({ description: 'Filter by source.' }),
  event: lockKindSchema.optional().meta({ description: 'Filter by event.' }),
  code: z
    .string()
    .optional()
    .meta({ description: 'Filter by tag or code, as visible to the caller.', example: '04A1B2C3' }),
  from: dateParam.optional(),
  to: dateParam.optional(),
})
