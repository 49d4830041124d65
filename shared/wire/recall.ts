import { z } from 'zod'
import { toIso } from '#shared/time.ts'
import { cartStateSchema } from './carts.ts'
import { oneLine } from './schema/name.ts'
import { isoSchema } from './schema/params.ts'

const textSchema = oneLine.optional()

export const newRecallSchema = z
  .strictObject({
    text: textSchema.meta({
      description: 'What the screens show; by default a sentence in the language of the site.',
      example: 'Lightning: please return to the clubhouse now.',
    }),
  })
  .meta({ id: 'NewRecall' })

export const endedRecallSchema = z
  .strictObject({
    text: textSchema.meta({
      description: 'What the screens show then; by default "It is over." in the language of the site.',
      example: 'The storm has passed: play on.',
    }),
  })
  .meta({ id: 'EndedRecall' })

export const recallSchema = z
  .object({
    recall_id: z.string().meta({ description: 'A UUID.' }),
    text: z.string().meta({ description: 'What the screens show.', example: 'All carts in, please.' }),
    started_at: isoSchema,
    by: z.object({ user_id: z.string(), name: z.string() }).meta({ description: 'Who called them in.' }),
  })
  .meta({ id: 'Recall' })

export type RecallJson = z.infer<typeof recallSchema>

const recallScreenSchema = z.enum(['confirmed', 'sent', 'offline', 'none']).meta({
  description:
    'confirmed: a screen of the cart has said that the message was read. sent: one is connected. offline: none ' +
    'is, and it gets the message when it comes back. none: the cart has no screen.',
})

export const recallStateSchema = z
  .object({
    active: recallSchema.nullable().meta({ description: 'null while the carts are not called in.' }),
    carts: z
      .array(
        z.object({
          cart: z.string().meta({ description: 'As GET /carts names it.', example: '17' }),
          state: cartStateSchema,
          screen: recallScreenSchema,
        }),
      )
      .meta({ description: 'Those that are called in, as far as they are in scope.' }),
  })
  .meta({ id: 'RecallState' })

export const deletedRecallSchema = z
  .object({
    success: z.literal(true),
    deleted: z.string().meta({ description: 'The recall_id.' }),
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
