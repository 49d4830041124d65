import { z } from 'zod'

export const newErasureSchema = z
  .strictObject({
    person: z.string().trim().min(1).max(200).optional().meta({
      description: 'Name of a person: values that equal it as a whole, case-insensitive, are emptied.',
      example: 'Jane Doe',
    }),
    code: z.string().min(1).max(64).optional().meta({
      description: 'Tag or keypad code: it is removed from lock events, and values that equal it are emptied.',
      example: '04A1B2C3',
    }),
  })
  .refine(({ person, code }) => (person === undefined) !== (code === undefined), {
    message: 'must have either person or code',
  })
  .meta({ id: 'NewErasure', description: 'Exactly one of person and code.' })

export const erasureSchema = z
  .object({
    lock_events: z.number().int().meta({ description: 'Number of changed lock events.', example: 12 }),
    commands: z.number().int().meta({ description: 'Number of changed commands.', example: 3 }),
    metadata: z.number().int().meta({ description: 'Number of emptied values in metadata and params.', example: 15 }),
    other: z.number().int().meta({
      description: 'Number of values emptied elsewhere, such as in the audit log.',
      example: 2,
    }),
  })
  .meta({ id: 'Erasure' })
