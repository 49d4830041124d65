import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { Notifier } from '#services/notifiers.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import {
  createdNotifierSchema,
  deletedNotifierSchema,
  type NotifierJson,
  newNotifierSchema,
  notifierPatchSchema,
  notifierSchema,
} from '#shared/wire/notifiers.ts'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import { queuedTestSchema } from '#shared/wire/webhooks.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { AlertsDeps } from './deps.ts'

const notifierIdParams = z.object({ id: z.string().meta({ description: 'notifier_id' }) })

function toNotifierJson(notifier: Notifier): NotifierJson {
  const { notifierId, channel, recipient, kinds, hours, createdAtMs } = notifier
  return {
    notifier_id: notifierId,
    channel,
    to: recipient,
    kinds,
    between: hours === null ? null : [toTime(hours[0]), toTime(hours[1])],
    after_unacknowledged_min: notifier.afterUnacknowledgedMin,
    created_at: toIso(createdAtMs),
    last_success_at: isoOrNull(notifier.lastSuccessAtMs),
    last_error: notifier.lastError,
    waiting: notifier.waiting,
  }
}

function toTime(minute: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`
}

function toHours(between: NotifierJson['between']): [number, number] | null {
  return between === null ? null : [toMinute(between[0]), toMinute(between[1])]
}

/** The schema accepts only HH:MM. */
function toMinute(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}

/** `/notifiers`: people who receive alerts by e-mail, ntfy or Telegram. For admins. */
export function createNotifiersApi({ notifiers }: AlertsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/notifiers', 'List notifiers', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { query: oldestListQuerySchema },
      responses: answers(z.array(notifierSchema), 'All notifiers, oldest first; without their tokens.', 400, 403),
    }),
    (c) => c.json(inOrder(notifiers.all(), c.req.valid('query').order).map(toNotifierJson), 200),
  )

  api.openapi(
    route.post('/notifiers', 'Notify a person of alerts', {
      description:
        'By e-mail, ntfy or Telegram, in the language and by the clocks of the site. Alerts opened ' +
        'within 30 seconds are sent as one message. The gateway retries for 24 hours, across restarts. For admins; ' +
        'at most 20.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newNotifierSchema) },
      responses: {
        201: json(createdNotifierSchema, 'The recipient is notified of alerts from now on.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { channel, to, token = null, kinds = null, between = null, ...others } = c.req.valid('json')
      const notifier = await notifiers.create({
        channel,
        recipient: to,
        token,
        kinds,
        hours: toHours(between),
        afterUnacknowledgedMin: others.after_unacknowledged_min ?? null,
      })
      c.header('location', `/notifiers/${notifier.notifierId}`)
      return c.json({ notifier: toNotifierJson(notifier) }, 201)
    },
  )

  api.openapi(
    route.patch('/notifiers/{id}', 'Change a notifier', {
      description:
        'A merge patch (RFC 7396): an omitted field stays unchanged; null restores its default. Waiting ' +
        'messages are sent with the new values. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: notifierIdParams, body: body(notifierPatchSchema) },
      responses: answers(notifierSchema, 'The notifier as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { to, token, kinds, between, after_unacknowledged_min } = c.req.valid('json')
      const notifier = await notifiers.change(c.req.valid('param').id, {
        ...(to === undefined ? {} : { recipient: to }),
        ...(token === undefined ? {} : { token }),
        ...(kinds === undefined ? {} : { kinds }),
        ...(between === undefined ? {} : { hours: toHours(between) }),
        ...(after_unacknowledged_min === undefined ? {} : { afterUnacknowledgedMin: after_unacknowledged_min }),
      })
      return c.json(toNotifierJson(notifier), 200)
    },
  )

  api.openapi(
    route.delete('/notifiers/{id}', 'Delete a notifier', {
      description: 'Waiting messages are dropped. For admins.',
      middleware: [adminOnly],
      request: { params: notifierIdParams },
      responses: answers(deletedNotifierSchema, 'The notifier is deleted.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await notifiers.delete(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    route.post('/notifiers/{id}/test', 'Test a notifier', {
      description: 'Sends a test message immediately. For admins.',
      middleware: [adminOnly],
      request: { params: notifierIdParams },
      responses: {
        202: json(queuedTestSchema, 'The message is sent, with retries until it arrives.'),
        ...problems(403, 404, 409),
      },
    }),
    async (c) => {
      const delivery_id = await notifiers.test(c.req.valid('param').id)
      return c.json({ success: true as const, delivery_id }, 202)
    },
  )

  return api
}
