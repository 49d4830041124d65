import { z } from 'zod'
import { dateParam, isoSchema, newestPageQuerySchema, paginationSchema } from './schema/params.ts'

const valuesSchema = z.record(z.string(), z.unknown()).nullable()

export const auditEntrySchema = z
  .object({
    entry_id: z.string().meta({ description: 'Unique.', example: '0f3c…' }),
    at: isoSchema,
    user_id: z
      .string()
      .nullable()
      .meta({ description: 'Who did it; null for the gateway itself and for the head office.' }),
    person: z
      .object({
        user_id: z.string().meta({ description: 'As in GET /users.' }),
        name: z.string().meta({ description: 'As it was then.' }),
      })
      .nullable()
      .meta({ description: 'Who acted on the tablet of the session; null where nobody said so.' }),
    session_id: z.string().nullable().meta({ description: 'null for what came with a key.' }),
    address: z.string().nullable().meta({
      description: 'Where the request came from; "head office" for its intents, null for the gateway itself.',
      example: '192.168.1.20',
    }),
    action: z.string().meta({ description: 'The noun and what happened.', example: 'user.updated' }),
    target: z.string().meta({ description: 'The id of what it was done to.' }),
    before: valuesSchema.meta({
      description: 'The fields that were different before; null for what was not there.',
      example: { is_active: true },
    }),
    after: valuesSchema.meta({
      description: 'The fields as they are since; null for what is gone. Never a secret.',
      example: { is_active: false },
    }),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntryJson = z.infer<typeof auditEntrySchema>

export const auditLogSchema = z
  .object({ entries: z.array(auditEntrySchema), pagination: paginationSchema })
  .meta({ id: 'AuditLog' })

export const auditLogQuerySchema = newestPageQuerySchema.extend({
  from: dateParam.optional(),
  to: dateParam.optional(),
  user_id: z.string().optional().meta({ description: 'Only of this user.' }),
  action: z.string().optional().meta({ description: 'Only this action.', example: 'user.updated' }),
})
