import { z } from 'zod'
import { ALERT_KINDS } from './alert-kinds.ts'
import type { AlertEvent, AlertJson } from './alerts.ts'
import { isoSchema } from './schema/params.ts'
import type { SiteForScreensJson } from './site.ts'

const URL_MAX = 2_000
const WEB_URL = /^[Hh][Tt][Tt][Pp][Ss]?:\S+$/

/** Describes why the gateway sends nothing to a URL; null if it is accepted. */
export function webUrlFault(text: string): string | null {
  const url = WEB_URL.test(text) ? URL.parse(text) : null
  if (url === null) return 'must be an http:// or https:// address'
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password'
  return text.length > URL_MAX ? `must have at most ${URL_MAX} characters` : null
}

const KINDS = {
  description: 'Alert kinds to send; null for all.',
  example: ['moved_after_hours', 'outside'],
}
const kindsSchema = z.array(z.enum(ALERT_KINDS)).min(1).max(100)

/** Alert kinds to send; shared by webhooks and notifiers. */
export const sentKindsSchema = kindsSchema.nullable().meta(KINDS)
/** Requested alert kinds; duplicates count once. */
export const wantedKindsSchema = kindsSchema
  .transform((kinds) => [...new Set(kinds)])
  .nullable()
  .meta(KINDS)

/** Delivery status of a webhook or a notifier. */
export const deliveryFields = {
  created_at: isoSchema,
  last_success_at: isoSchema.nullable().meta({ description: 'Time of the last success; null before the first one.' }),
  last_error: z
    .string()
    .nullable()
    .meta({ description: 'Reason for which the last attempt failed; null after a success.', example: 'answered 503' }),
  waiting: z.number().int().meta({ description: 'Number of undelivered messages.', example: 0 }),
}

const webhookIdSchema = z.string().meta({
  description: 'Id of the webhook.',
  example: 'a7c1b0de-5c3e-4a7a-9a44-0a4f5a0f2d11',
})

export const webhookSchema = z
  .object({
    webhook_id: webhookIdSchema,
    url: z.string().meta({ description: 'URL that receives the messages.', example: 'http://192.168.1.9:3000/alerts' }),
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
        description: 'URL with http or https and without a user; addresses of the local network are allowed.',
        example: 'http://192.168.1.9:3000/alerts',
      }),
    kinds: wantedKindsSchema.optional(),
    secret: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: 'Secret that signs the messages; default: 32 random bytes.' }),
  })
  .meta({ id: 'NewWebhook' })

export const createdWebhookSchema = z
  .object({
    webhook: webhookSchema,
    secret: z.string().meta({ description: 'Secret to verify signatures with; shown only in this response.' }),
  })
  .meta({ id: 'CreatedWebhook' })

export const deletedWebhookSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'webhook_id' }),
})

/** Queued test of a webhook or a notifier. */
export const queuedTestSchema = z.object({
  success: z.literal(true),
  delivery_id: z.string().meta({
    description: 'Id of the delivery, as in the header x-cartbarn-delivery of a webhook.',
  }),
})

export interface WebhookBody {
  event: AlertEvent | 'test'
  /** Null in a test. */
  alert: AlertJson | null
  site: SiteForScreensJson
  /** Creation time; the same in a retry. */
  sent_at: string
}
