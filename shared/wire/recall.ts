import { z } from 'zod'
import { toIso } from '#shared/time.ts'
import { cartStateSchema } from './carts.ts'
import { oneLine } from './schema/name.ts'
import { isoSchema } from './schema/params.ts'

const textSchema = oneLine.optional()

export const newRecallSchema = z
  .strictObject({
    text: textSchema.meta({
      description: 'Text shown on the screens; default: a sentence in the language of the site.',
      example: 'Lightning: please return to the clubhouse now.',
    }),
  })
  .meta({ id: 'NewRecall' })

export const endedRecallSchema = z
  .strictObject({
    text: textSchema.meta({
      description: 'Text shown on the screens at the end; default: "Recall ended." in the language of the site.',
      example: 'The storm has passed: play on.',
    }),
  })
  .meta({ id: 'EndedRecall' })

export const recallSchema = z
  .object({
    recall_id: z.string().meta({ description: 'Id of the recall, a UUID.' }),
    text: z.string().meta({ description: 'Text shown on the screens.', example: 'All carts in, please.' }),
    started_at: isoSchema,
    by: z.object({ user_id: z.string(), name: z.string() }).meta({ description: 'User who started the recall.' }),
  })
  .meta({ id: 'Recall' })

export type RecallJson = z.infer<typeof recallSchema>

/** Best state first. */
export const SCREEN_STATES = ['confirmed', 'sent', 'offline', 'none'] as const
export type ScreenState = (typeof SCREEN_STATES)[number]

export const screenStateSchema = z.enum(SCREEN_STATES).meta({
  description:
    'State of the screens. confirmed: a screen of the cart has confirmed that the message was read. sent: one is ' +
    'connected. offline: none is connected, and the message is delivered after a reconnect. none: the cart has no ' +
    'screen.',
})

export const recallStateSchema = z
  .object({
    active: recallSchema.nullable().meta({ description: 'Active recall; null without one.' }),
    carts: z
      .array(
        z.object({
          cart: z.string().meta({ description: 'Name of the cart as in GET /carts.', example: '17' }),
          state: cartStateSchema,
          screen: screenStateSchema,
        }),
      )
      .meta({ description: 'Carts of the recall, as far as they are in scope.' }),
  })
  .meta({ id: 'RecallState' })

export const deletedRecallSchema = z
  .object({
    success: z.literal(true),
    deleted: z.string().meta({ description: 'recall_id of the ended recall.' }),
  })
  .meta({ id: 'DeletedRecall' })

interface Recall {
  recallId: string
  text: string
  startedAtMs: number
  by: { userId: string; name: string }
}

export function toRecallJson({ recallId, text, startedAtMs, by }: Recall): RecallJson {
  return {
    recall_id: recallId,
    text,
    started_at: toIso(startedAtMs),
    by: { user_id: by.userId, name: by.name },
  }
}
