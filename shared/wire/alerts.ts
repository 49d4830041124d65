import { z } from 'zod'
import { ALERT_KINDS } from './alert-kinds.ts'
import { oneLine } from './schema/name.ts'
import { choiceParam, dateParam, isoSchema, newestPageQuerySchema, paginationSchema } from './schema/params.ts'

export const ALERT_STATES = ['open', 'acknowledged', 'closed'] as const
export type AlertState = (typeof ALERT_STATES)[number]

/** `repeated`: a cart called again; `escalated`: staff have not acknowledged its call in time. */
export const ALERT_EVENTS = ['opened', 'repeated', 'escalated', 'acknowledged', 'closed'] as const
export type AlertEvent = (typeof ALERT_EVENTS)[number]

const personSchema = z.object({
  user_id: z.string().meta({ description: 'Id as in GET /users.' }),
  name: z.string().meta({ description: 'Name of the user at that time.' }),
})

export const alertSchema = z
  .object({
    alert_id: z.string().meta({ description: 'Id of the alert.', example: '8f1c…' }),
    kind: z.enum(ALERT_KINDS),
    cart: z
      .string()
      .nullable()
      .meta({
        description:
          'Cart as in GET /carts; null for disk, clock, sync, backup, certificate and pin_locked, which concern the ' +
          'site.',
        example: '17',
      }),
    hardware_id: z.string().nullable().meta({ description: 'Device of the cart that caused the alert.' }),
    opened_at: isoSchema,
    closed_at: isoSchema.nullable().meta({
      description: 'Time at which the alert ended or a user closed it; null while it is open.',
    }),
    acknowledged_at: isoSchema.nullable().meta({ description: 'Time of the first acknowledgement by a user.' }),
    acknowledged_by: personSchema.nullable(),
    note: z.string().nullable().meta({ description: 'Note that was given when the alert was acknowledged or closed.' }),
    details: z.record(z.string(), z.unknown()).meta({
      description:
        'Details, depending on the kind; reason is "removed" if the cart was deleted, "cancelled" if a call was.',
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
    description: 'Filter by state. open: neither acknowledged nor closed. acknowledged: not closed yet. Default: all.',
  }),
  kind: choiceParam(ALERT_KINDS, 'invalid_parameter').optional().meta({ description: 'Filter by kind.' }),
  cart: z.string().optional().meta({ description: 'Filter by cart.', example: '17' }),
  from: dateParam.optional(),
  to: dateParam.optional(),
})

/** Note of the user who acknowledges or closes an alert, and the response to a call. */
export const alertNoteSchema = z
  .strictObject({
    note: z
      .string({ error: 'must be a string' })
      .trim()
      .max(500)
      .nullable()
      .optional()
      .meta({ description: 'Note; an empty text means none.', example: 'Charger 4 was off' }),
    reply: oneLine.nullable().optional().meta({
      description: 'Text for the screens of the cart, for alerts of the kind call only; empty for the default text.',
      example: 'A marshal is on the way.',
    }),
  })
  .meta({ id: 'AlertNote' })
