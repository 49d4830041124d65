import { z } from 'zod'
import { isoSchema } from './schema/params.ts'
import { sessionNameSchema } from './sessions.ts'

export const requestIdParams = z.object({ id: z.string().meta({ description: 'request_id' }) })

const fields = {
  request_id: z.string().meta({ description: 'Id of the request.', example: '0d0f4c3e-5c3e-4a7a-9a44-0a4f5a0f2d11' }),
  check: z.string().meta({ description: 'Four digits that both screens show, for comparison.', example: '0417' }),
  expires_at: isoSchema,
}

export const newAccessRequestSchema = z.strictObject({ name: sessionNameSchema }).meta({ id: 'NewAccessRequest' })

export const createdAccessRequestSchema = z
  .object({
    ...fields,
    secret: z.string().meta({
      description: 'Secret for POST /sessions; shown only in this response.',
    }),
  })
  .meta({ id: 'CreatedAccessRequest' })

export const accessRequestSchema = z
  .object({
    ...fields,
    name: z.string().meta({ description: 'Name that the tablet gives itself.', example: 'Barn tablet' }),
    address: z.string().meta({ description: 'IP address from which the request came.', example: '192.168.1.20' }),
    created_at: isoSchema,
    allowed: z.boolean().meta({
      description: 'True if an admin has approved the request; the tablet has not signed in yet.',
    }),
  })
  .meta({ id: 'AccessRequest' })
export type AccessRequestJson = z.infer<typeof accessRequestSchema>

export const allowedRequestSchema = z
  .strictObject({ user_id: z.string().max(64).meta({ description: 'User whose rights the tablet gets.' }) })
  .meta({ id: 'Allowance' })
export const allowedAccessSchema = z.object({
  success: z.literal(true),
  request_id: z.string().meta({ description: 'Id of the approved request.' }),
})
export const deletedAccessRequestSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'request_id' }),
})
