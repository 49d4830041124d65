import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireStillIn } from '#services/people/login.ts'
import { paginationOf } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { idempotencyHeaders } from '#shared/wire/commands.ts'
import {
  messageIdParams,
  messageListSchema,
  messageQuerySchema,
  messageSchema,
  newMessageSchema,
} from '#shared/wire/messages/messages.ts'
import { type ApiEnv, createApi, listerOf, staffOnly } from '../api-env.ts'
import type { CommandsDeps, PeopleDeps } from '../deps.ts'

/** `/messages`: messages of staff to the screens of carts. */
export function createMessagesApi({ messages, users }: CommandsDeps & PeopleDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/messages', 'Send a message to carts', {
      description:
        'Sends a typed or a ready text to each screen of these carts in scope, once. A screen that is not connected ' +
        'gets it when it reconnects before expires_at. At most 30 a minute of one user. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { headers: idempotencyHeaders, body: body(newMessageSchema) },
      responses: {
        201: json(messageSchema, 'The message is stored and on its way.'),
        ...problems(400, 403, 404, 409, 413, 415),
      },
    }),
    async (c) => {
      const { user } = c.var
      const by = { user_id: user.caller.userId, name: users.find(user.caller.userId)?.row.name ?? user.row.name }
      const idempotencyKey = c.req.valid('header')['idempotency-key']
      const asking = { caller: user.caller, idempotencyKey, callerNow: () => requireStillIn(user) }
      const { message, isRepeated } = await messages.send(c.req.valid('json'), by, asking)
      if (isRepeated) c.header('idempotency-replayed', 'true')
      c.header('location', `/messages/${message.message_id}`)
      return c.json(message, 201)
    },
  )

  api.openapi(
    listRoute('/messages', 'List messages to carts', {
      description: 'Messages with a cart in scope; kept as long as events. For staff and admins.',
      middleware: [staffOnly],
      request: { query: messageQuerySchema },
      responses: answers(messageListSchema, 'Messages, newest first by default.', 400, 403),
    }),
    async (c) => {
      const page = c.req.valid('query')
      const found = await messages.list(page, c.var.user.caller, listerOf(c, page.offset > 0))
      return c.json({ messages: found, pagination: paginationOf(page, found) }, 200)
    },
  )

  api.openapi(
    route.get('/messages/{id}', 'Get a message to carts', {
      description: 'With the progress on the screens of its carts in scope. For staff and admins.',
      middleware: [staffOnly],
      request: { params: messageIdParams },
      responses: answers(messageSchema, 'The message.', 403, 404),
    }),
    (c) => c.json(messages.requireVisible(c.req.valid('param').id, c.var.user.caller), 200),
  )

  return api
}
