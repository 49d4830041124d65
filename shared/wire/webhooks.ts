import { z } from 'zod'
import { ALERT_KINDS } from './alert-kinds.ts'
import type { AlertEvent, AlertJson } from './alerts.ts'
import { isoSchema } from './schema/params.ts'
import type { SiteForScreensJson } from './site.ts'

const URL_MAX = 2_000
const WEB_URL = /^[Hh][Tt][Tt][Pp][Ss]?:\S+$/

/** Why a text is no address that the gateway sends anything to; null when it is one. */
export function webUrlFault(text: string): string | null {
  const url = WEB_URL.test(text) ? URL.parse(text) : null
  if (url === null) return 'must be an http:// or https:// address'
  if (url.username !== '' || url.password !== '') return 'must have no user and no password in it'
  return text.length > URL_MAX ? `must have at most ${URL_MAX} characters` : null
}

const KINDS = {
  description: 'Only alerts of these kinds; null is all.',
  example: ['moved_after_hours', 'outside'],
}
const kindsSchema = z.array(z.enum(ALERT_KINDS)).min(1).max(100)

/** Which alerts are told; shared by webhooks and notifiers. */
export const sentKindsSchema = kindsSchema.nullable().meta(KINDS)
/** The same as it is asked for: a kind that is there twice counts once. */
export const wantedKindsSchema = kindsSchema
  .transform((kinds) => [...new Set(kinds)])
  .nullable()
  .meta(KINDS)

/** How it goes with a webhook or a notifier. */
export const deliveryFields = {
  created_at: isoSchema,
  last_success_at: isoSchema.nullable().meta({ description: 'null before the first.' }),
  last_error: z
    .string()
    .nullable()
    .meta({ description: 'Why the last attempt failed; null after a success.', example: 'answered 503' }),
  waiting: z.number().int().meta({ description: 'Messages that have not arrived yet.', example: 0 }),
}

const webhookIdSchema = z.string().meta({ description: 'Unique.', example: 'a7c1b0de-5c3e-4a7a-9a44-0a4f5a0f2d11' })

export const webhookSchema = z
  .object({
    webhook_id: webhookIdSchema,
    url: z.string().meta({ description: 'Where it is sent.', example: 'http://192.168.1.9:3000/alerts' }),
    kinds: sentKindsSchema,
    ...deliveryFields,
  })
  .meta({ id: 'Webhook' })
export type WebhookJson = z.infer<typeof webhookSchema>

export const newWebhookSchema = z
  .strictObject({
    url: z
      .string()
      .superRefine((text, ctx) => {
        const message = webUrlFault(text)
        if (message !== null) ctx.addIssue({ code: 'custom', message, params: { code: 'invalid_url' } })
      })
      .meta({
        format: 'uri',
        pattern: WEB_URL.source,
        maxLength: URL_MAX,
        description: 'http or https, without a user in it; an address of the local network too.',
        example: 'http://192.168.1.9:3000/alerts',
      }),
    kinds: wantedKindsSchema.optional(),
    secret: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: 'Signs what is sent; 32 random bytes unless given.' }),
  })
  .meta({ id: 'NewWebhook' })

export const createdWebhookSchema = z
  .object({
    webhook: webhookSchema,
    secret: z.string().meta({ description: 'Shown only here; check signatures with it.' }),
  })
  .meta({ id: 'CreatedWebhook' })

export const deletedWebhookSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'webhook_id' }),
})

/** A test of a webhook or a notifier was queued. */
export const queuedTestSchema = z.object({
  success: z.literal(true),
  delivery_id: z.string().meta({ description: 'As in the header x-cartbarn-delivery of a webhook.' }),
})

/** What a webhook is sent. */
export interface WebhookBody {
  event: AlertEvent | 'test'
  /** Null in a test. */
  alert: AlertJson | null
  site: SiteForScreensJson
  /** When it was made; the same at a retry. */
  sent_at: string
}
