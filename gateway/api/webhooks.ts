import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { Webhook } from '#services/webhooks.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import {
  createdWebhookSchema,
  deletedWebhookSchema,
  newWebhookSchema,
  queuedTestSchema,
  type WebhookJson,
  webhookSchema,
} from '#shared/wire/webhooks.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { AlertsDeps } from './deps.ts'

const webhookIdParams = z.object({ id: z.string().meta({ description: 'webhook_id' }) })

function toWebhookJson(webhook: Webhook): WebhookJson {
  const { webhookId, url, kinds, createdAtMs, lastSuccessAtMs, lastError, waiting } = webhook
  return {
    webhook_id: webhookId,
    url,
    kinds,
    created_at: toIso(createdAtMs),
    last_success_at: isoOrNull(lastSuccessAtMs),
    last_error: lastError,
    waiting,
  }
}

/** `/webhooks`: programs that receive alerts over HTTP. For admins. */
export function createWebhooksApi({ webhooks }: AlertsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/webhooks', 'List webhooks', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { query: oldestListQuerySchema },
      responses: answers(z.array(webhookSchema), 'All webhooks, oldest first; without their secrets.', 400, 403),
    }),
    (c) => c.json(inOrder(webhooks.all(), c.req.valid('query').order).map(toWebhookJson), 200),
  )

  api.openapi(
    route.post('/webhooks', 'Notify a program of alerts', {
      description:
        'The gateway sends each alert to the address when it is opened, acknowledged and closed, signed with the ' +
        'secret (docs/alerts.md). It retries for 24 hours, across restarts. For admins; at most 20.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newWebhookSchema) },
      responses: {
        201: json(createdWebhookSchema, 'The webhook, and its secret, which only this response shows.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { url, kinds = null, secret } = c.req.valid('json')
      const made = await webhooks.create({ url, kinds, secret })
      c.header('location', `/webhooks/${made.webhook.webhookId}`)
      return c.json({ webhook: toWebhookJson(made.webhook), secret: made.secret }, 201)
    },
  )

  api.openapi(
    route.delete('/webhooks/{id}', 'Delete a webhook', {
      description: 'Waiting messages are dropped. For admins.',
      middleware: [adminOnly],
      request: { params: webhookIdParams },
      responses: answers(deletedWebhookSchema, 'The webhook is deleted.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await webhooks.delete(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/webhooks/{id}/test', 'Test a webhook', {
      description: 'Sends the event test immediately, signed like every other event. For admins.',
      middleware: [adminOnly],
      request: { params: webhookIdParams },
      responses: {
        202: json(queuedTestSchema, 'The event is sent, with retries until it arrives.'),
        ...problems(403, 404),
      },
    }),
    async (c) => {
      const delivery_id = await webhooks.test(c.req.valid('param').id)
      return c.json({ success: true as const, delivery_id }, 202)
    },
  )

  return api
}
