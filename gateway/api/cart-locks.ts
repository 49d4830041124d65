import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireStillIn } from '#services/people/login.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { cartLocksSchema, newCartLocksSchema } from '#shared/wire/cart-locks.ts'
import { idempotencyHeaders } from '#shared/wire/commands.ts'
import { type ApiEnv, createApi, staffOnly } from './api-env.ts'
import type { CommandsDeps } from './deps.ts'

/** `/carts/lock`: locks many carts in the barn with one request. */
export function createCartLocksApi({ cartLocks }: CommandsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/carts/lock', 'Lock the carts in the barn', {
      description:
        'Sends a lock to each cart that is in a parking zone, in one request. Any other cart is on_course: ' +
        'lock it by a command to its device. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { headers: idempotencyHeaders, body: body(newCartLocksSchema) },
      responses: {
        202: json(cartLocksSchema, 'For each cart its command, or the reason for having none.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { user } = c.var
      const { carts, metadata = null } = c.req.valid('json')
      const idempotencyKey = c.req.valid('header')['idempotency-key']
      const asking = { caller: user.caller, idempotencyKey, callerNow: () => requireStillIn(user) }
      const { outcome, isRepeated } = await cartLocks.lock({ carts, metadata }, asking)
      if (isRepeated) c.header('idempotency-replayed', 'true')
      const results = outcome.map((result) =>
        'code' in result ? result : { cart: result.cart, command_id: result.commandId },
      )
      return c.json({ results }, 202)
    },
  )

  return api
}
