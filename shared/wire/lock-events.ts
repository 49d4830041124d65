import { z } from 'zod'
import { dateParam, eventPageQuery, isoSchema, paginationSchema, removedSchema } from './schema/params.ts'

export const lockKindSchema = z.enum(['lock', 'unlock'])
export const lockSourceSchema = z.enum(['rfid', 'keypad', 'key', 'remote'])
export type LockKind = z.infer<typeof lockKindSchema>
export type LockSource = z.infer<typeof lockSourceSchema>

export const lockEventSchema = z
  .object({
    event_id: z.string().meta({ description: 'Unique.', example: '4Xk0Zq1mB3uYw' }),
    hardware_id: z.string().meta({ description: 'The device.', example: 'cart-07' }),
    event: lockKindSchema,
    timestamp: isoSchema.meta({ description: 'When it happened.' }),
    source: lockSourceSchema.meta({ description: 'With what: a tag, a code, a key, or this API.' }),
    code: z.string().optional().meta({
      description:
        'RFID tag or keypad code; only with source rfid or keypad. A user with mask_codes sees its last two characters.',
      example: '04A1B2C3',
    }),
    metadata: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'From the command; only with source remote.', example: { name: 'Jane' } }),
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
    description: 'Only of this device, since it was registered; of a deleted device, all that are kept.',
    example: 'cart-07',
  }),
  source: lockSourceSchema.optional().meta({ description: 'Only from this source.' }),
  event: lockKindSchema.optional().meta({ description: 'Only this kind.' }),
  code: z
    .string()
    .optional()
    .meta({ description: 'Only with this tag or code, as the caller sees it.', example: '04A1B2C3' }),
  from: dateParam.optional(),
  to: dateParam.optional(),
})
