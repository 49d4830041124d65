import { z } from 'zod'
import { READY_TEXTS_MAX } from '#shared/site/settings.ts'
import { oneLine } from '../schema/name.ts'

const textIdSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower-case letters, digits and hyphens')
  .meta({ description: 'Id of the text, chosen by its author.', example: 'keep-up' })

export const readyTextSchema = z
  .object({
    text_id: z.string().meta({ description: 'Id of the text.', example: 'keep-up' }),
    en: z.string().meta({ description: 'Text in English.', example: 'Please keep up with the group ahead of you.' }),
    de: z.string().meta({ description: 'Text in German.', example: 'Bitte zur Gruppe davor aufschließen.' }),
    is_urgent: z.boolean().meta({ description: 'True to show it first and in red.' }),
  })
  .meta({ id: 'ReadyText' })
export type ReadyTextJson = z.infer<typeof readyTextSchema>

/** `PUT /texts`: the whole list. */
export const newReadyTextsSchema = z
  .array(
    z.strictObject({
      text_id: textIdSchema,
      en: oneLine.min(1).meta({ description: 'Text in English.' }),
      de: oneLine.min(1).meta({ description: 'Text in German.' }),
      is_urgent: z.boolean().default(false).meta({ description: 'True to show it first and in red; default false.' }),
    }),
  )
  .max(READY_TEXTS_MAX)
  .superRefine((texts, ctx) => {
    const seen = new Set<string>()
    for (const [at, { text_id }] of texts.entries()) {
      const message = `another text has the id ${text_id}`
      if (seen.has(text_id))
        ctx.addIssue({ code: 'custom', path: [at, 'text_id'], message, params: { code: 'duplicate_id' } })
      seen.add(text_id)
    }
  })
  .meta({ id: 'NewReadyTexts' })
