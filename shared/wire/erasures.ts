import { z } from 'zod'

export const newErasureSchema = z
  .strictObject({
    person: z.string().trim().min(1).max(200).optional().meta({
      description: 'A name: values that are this as a whole, whatever the case, become empty.',
      example: 'Jane Doe',
    }),
    code: z.string().min(1).max(64).optional().meta({
      description: 'A tag or keypad code: it is taken out of lock events, and values that are this become empty.',
      example: '04A1B2C3',
    }),
  })
  .refine(({ person, code }) => (person === undefined) !== (code === undefined), {
    message: 'must have either person or code',
  })
  .meta({ id: 'NewErasure', description: 'Exactly one of the two.' })

export const erasureSchema = z
  .object({
    lock_events: z.number().int().meta({ description: 'Lock events that were changed.', example: 12 }),
    commands: z.number().int().meta({ description: 'Commands that were changed.', example: 3 }),
    metadata: z.number().int().meta({ description: 'Values of metadata and params that were emptied.', example: 15 }),
    other: z.number().int().meta({
      description: 'Values that were emptied elsewhere, as in the audit log.',
      example: 2,
    }),
  })
  .meta({ id: 'Erasure' })
