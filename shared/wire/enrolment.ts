import { z } from 'zod'
import { isoSchema } from './schema/params.ts'

const count = z.number().int().min(0)
const openUntil = isoSchema.nullable().meta({
  description: 'null while it is closed, and with CARTBARN_ENROLMENT=always, when it never closes.',
})

export const enrolmentSchema = z
  .object({
    key_configured: z.boolean().meta({ description: 'false: no device can enrol.' }),
    is_open: z.boolean().meta({ description: 'Whether a device that is not registered may enrol now.' }),
    open_until: openUntil,
    waiting: count.meta({
      description: 'Devices with enrolled_with_shared_key: they have no password of their own yet.',
      example: 3,
    }),
    waiting_limit: count.meta({
      description: 'While this many wait, no other device may enrol.',
      example: 1000,
    }),
  })
  .meta({ id: 'Enrolment' })

export const newEnrolmentSchema = z
  .strictObject({
    minutes: z.number().int().min(1).max(1440).meta({ description: 'From now on.', example: 30 }),
  })
  .meta({ id: 'NewEnrolment' })

export const openedEnrolmentSchema = z.object({ open_until: openUntil }).meta({ id: 'OpenedEnrolment' })
