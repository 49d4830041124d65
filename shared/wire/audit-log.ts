import { z } from 'zod'
import { dateParam, isoSchema, newestPageQuerySchema, paginationSchema } from './schema/params.ts'

const valuesSchema = z.record(z.string(), z.unknown()).nullable()

export const auditEntrySchema = z
  .object({
    entry_id: z.string().meta({ description: 'Id of the entry.', example: '0f3c…' }),
    at: isoSchema,
    user_id: z
      .string()
      .nullable()
      .meta({ description: 'User who performed the action; null for the gateway itself and for the head office.' }),
    person: z
      .object({
        user_id: z.string().meta({ description: 'Id as in GET /users.' }),
        name: z.string().meta({ description: 'Name of the user at that time.' }),
      })
      .nullable()
      .meta({ description: 'Person signed in with a PIN on the tablet of the session; null if none was.' }),
    session_id: z.string().nullable().meta({ description: 'Id of the session; null for a request with a key.' }),
    address: z.string().nullable().meta({
      description: 'Origin of the request: an IP address; "head office" for its intents, null for the gateway itself.',
      example: '192.168.1.20',
    }),
    action: z.string().meta({ description: 'Action: a noun and what happened to it.', example: 'user.updated' }),
    target: z.string().meta({ description: 'Id of the object of the action.' }),
    before: valuesSchema.meta({
      description: 'Previous values of the changed fields; null if the object did not exist.',
      example: { is_active: true },
    }),
    after: valuesSchema.meta({
      description: 'New values of the fields; null if the object was deleted. Never contains a secret.',
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
  user_id: z.string().optional().meta({ description: 'Filter by user.' }),
  action: z.string().optional().meta({ description: 'Filter by action.', example: 'user.updated' }),
})
