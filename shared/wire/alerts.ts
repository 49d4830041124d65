import { z } from 'zod'
import { ALERT_KINDS } from './alert-kinds.ts'
import { choiceParam, dateParam, isoSchema, newestPageQuerySchema, paginationSchema } from './schema/params.ts'

export const ALERT_STATES = ['open', 'acknowledged', 'closed'] as const
export type AlertState = (typeof ALERT_STATES)[number]

/** What happens to an alert. */
export const ALERT_EVENTS = ['opened', 'acknowledged', 'closed'] as const
export type AlertEvent = (typeof ALERT_EVENTS)[number]

const personSchema = z.object({
  user_id: z.string().meta({ description: 'As in GET /users.' }),
  name: z.string().meta({ description: 'As it was then.' }),
})

export const alertSchema = z
  .object({
    alert_id: z.string().meta({ description: 'Unique.', example: '8f1c…' }),
    kind: z.enum(ALERT_KINDS),
    cart: z.string().nullable().meta({
      description:
        'As in GET /carts; null for disk, clock, sync, backup, certificate and pin_locked, which are about the site.',
      example: '17',
    }),
    hardware_id: z.string().nullable().meta({ description: 'The device of the cart that told it.' }),
    opened_at: isoSchema,
    closed_at: isoSchema.nullable().meta({ description: 'null until it is over or a person closes it.' }),
    acknowledged_at: isoSchema.nullable().meta({ description: 'When a person took note of it first.' }),
    acknowledged_by: personSchema.nullable(),
    note: z.string().nullable().meta({ description: 'What was said when it was acknowledged or closed.' }),
    details: z.record(z.string(), z.unknown()).meta({
      description: 'What it is about, by kind; reason "removed" says that the cart was deleted.',
      example: { voltage: 47.6, threshold: 48 },
    }),
  })
  .meta({ id: 'Alert' })
export type AlertJson = z.infer<typeof alertSchema>

export const alertListSchema = z
  .object({ alerts: z.array(alertSchema), pagination: paginationSchema })
  .meta({ id: 'AlertList' })

export const alertIdParams = z.object({
  id: z.string().meta({ description: 'alert_id', example: '8f1c…' }),
})

export const alertQuerySchema = newestPageQuerySchema.extend({
  state: choiceParam(ALERT_STATES, 'invalid_parameter').optional().meta({
    description: 'open: neither acknowledged nor closed. acknowledged: not closed yet. closed. All unless told.',
  }),
  kind: choiceParam(ALERT_KINDS, 'invalid_parameter').optional().meta({ description: 'Only this kind.' }),
  cart: z.string().optional().meta({ description: 'Only of this cart.', example: '17' }),
  from: dateParam.optional(),
  to: dateParam.optional(),
})

/** What a person says who acknowledges or closes an alert. */
export const alertNoteSchema = z
  .strictObject({
    note: z
      .string({ error: 'must be a string' })
      .trim()
      .max(500)
      .nullable()
      .optional()
      .meta({ description: 'Empty is none.', example: 'Charger 4 was off' }),
  })
  .meta({ id: 'AlertNote' })
