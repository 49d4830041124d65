import { z } from 'zod'
import { groupIdSchema } from '../groups.ts'
import { screenStateSchema } from '../recall.ts'
import { oneLine } from '../schema/name.ts'
import { isoSchema, newestPageQuerySchema, paginationSchema } from '../schema/params.ts'

const CARTS_MAX = 500

/** Ways to choose carts: a message has exactly one. */
const targets = {
  carts: z
    .array(z.string().min(1).max(128))
    .min(1)
    .max(CARTS_MAX)
    .meta({ description: 'Carts by name; duplicates count once.', example: ['17'] }),
  party_id: z.string().max(64).meta({ description: 'Carts of this party that are out.' }),
  hole: z.number().int().min(1).max(99).meta({
    description: 'Golf carts whose round is on this hole, or that are in its zone.',
    example: 7,
  }),
  group_id: groupIdSchema.meta({ description: 'Carts with a device in this group.' }),
  all_out: z.literal(true).meta({
    description: 'Golf carts with a position that are in service and not in a parking zone.',
  }),
}

/** Adds an error at `path` unless exactly one of these fields is present; zod changes the path that it gets. */
function exactlyOneOf(path: readonly string[], names: readonly string[]) {
  return (value: object, ctx: z.RefinementCtx) => {
    const count = names.filter((name) => Reflect.get(value, name) !== undefined).length
    const params = { code: count === 0 ? 'missing_field' : 'invalid_field' }
    const message = `give exactly one of ${names.join(', ')}`
    if (count !== 1) ctx.addIssue({ code: 'custom', path: [...path], message, params })
  }
}

export const newMessageSchema = z
  .strictObject({
    text: oneLine.min(1).optional().meta({ description: 'Typed text, instead of text_id.', example: 'Fog on hole 2.' }),
    text_id: z.string().max(32).optional().meta({ description: 'Id of a ready text.', example: 'keep-up' }),
    language: z.enum(['en', 'de']).optional().meta({
      description: 'Language of the ready text; default: that of the site.',
    }),
    to: z
      .strictObject(targets)
      .partial()
      .superRefine(exactlyOneOf([], Object.keys(targets)))
      .meta({ description: 'Carts that get the message; exactly one of the fields.', example: { all_out: true } }),
    ttl_min: z.number().min(1).max(240).default(30).meta({
      description: 'Minutes for which a screen that is not connected still gets the message.',
    }),
  })
  .superRefine(exactlyOneOf(['text'], ['text', 'text_id']))
  .meta({ id: 'NewMessage' })
export type NewMessageJson = z.infer<typeof newMessageSchema>
export type MessageTarget = NewMessageJson['to']

export const messageSchema = z
  .object({
    message_id: z.string().meta({ description: 'Id of the message, a UUID.' }),
    text: z.string().meta({ description: 'Text shown on the screens.', example: 'The kiosk is open.' }),
    text_id: z.string().nullable().meta({ description: 'Id of the ready text; null for a typed one.' }),
    to: z
      .object(targets)
      .partial()
      .meta({ description: 'Carts as they were chosen.', example: { hole: 7 } }),
    sent_at: isoSchema,
    expires_at: isoSchema,
    by: z.object({ user_id: z.string(), name: z.string() }).meta({ description: 'User who sent the message.' }),
    carts: z
      .array(
        z.object({
          cart: z.string().meta({ description: 'Name of the cart when the message was sent.', example: '17' }),
          screen: screenStateSchema,
        }),
      )
      .meta({ description: 'Carts in scope. A message that a screen has received stays sent until it is confirmed.' }),
  })
  .meta({ id: 'Message' })
export type MessageJson = z.infer<typeof messageSchema>

export const messageQuerySchema = newestPageQuerySchema
export const messageListSchema = z
  .object({ messages: z.array(messageSchema), pagination: paginationSchema })
  .meta({ id: 'MessageList' })

export const messageIdParams = z.object({ id: z.string().meta({ description: 'message_id' }) })
