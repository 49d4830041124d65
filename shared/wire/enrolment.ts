import { z } from 'zod'
import { isoSchema } from './schema/params.ts'

const count = z.number().int().min(0)
const openUntil = isoSchema.nullable().meta({
  description:
    'End of the enrolment; null while it is closed, and with CARTBARN_ENROLMENT=always, when it never closes.',
})

export const enrolmentSchema = z
  .object({
    key_configured: z.boolean().meta({ description: 'False if no device can enrol.' }),
    is_open: z.boolean().meta({ description: 'True if unregistered devices may enrol now.' }),
    open_until: openUntil,
    waiting: count.meta({
      description: 'Number of devices with enrolled_with_shared_key, which have no password of their own yet.',
      example: 3,
    }),
    waiting_limit: count.meta({
      description: 'Limit of waiting devices, at which no further device may enrol.',
      example: 1000,
    }),
  })
  .meta({ id: 'Enrolment' })

export const newEnrolmentSchema = z
  .strictObject({
    minutes: z.number().int().min(1).max(1440).meta({ description: 'Duration from now on, in minutes.', example: 30 }),
  })
  .meta({ id: 'NewEnrolment' })

export const openedEnrolmentSchema = z.object({ open_until: openUntil }).meta({ id: 'OpenedEnrolment' })
