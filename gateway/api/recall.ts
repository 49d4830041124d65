import type { OpenAPIHono } from '@hono/zod-openapi'
import { canSee, visibleHardwareIds } from '#domain/access.ts'
import { jsonBodyOrNone } from '#shared/http/request-guards.ts'
import { answers, bodyOrNone, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  deletedRecallSchema,
  endedRecallSchema,
  newRecallSchema,
  recallSchema,
  recallStateSchema,
  toRecallJson,
} from '#shared/wire/recall.ts'
import { type ApiEnv, createApi, staffOnly } from './api-env.ts'
import type { CommandsDeps, CourseDeps, PeopleDeps } from './deps.ts'

/** `/recall`: calls all carts in. */
export function createRecallApi({ recall, carts, users }: PeopleDeps & CommandsDeps & CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/recall', 'Get how far the recall has come', {
      description: 'State of the recall, and the screens that have confirmed it. For staff and admins.',
      middleware: [staffOnly],
      responses: answers(recallStateSchema, 'The recall and its carts in scope.', 403),
    }),
    (c) => {
      const { active } = recall
      if (active === null) return c.json({ active: null, carts: [] }, 200)
      const { caller } = c.var.user
      const shown = carts.allNow().flatMap((cart) => {
        const seen = carts.seenBy(cart, (hardwareId) => canSee(caller, hardwareId))
        if (seen === null || !cart.devices.some(({ row }) => recall.isFor(row.hardwareId))) return []
        return [{ cart: seen.key, state: seen.verdict.state, screen: recall.screenOf(seen.devices) }]
      })
      return c.json({ active: toRecallJson(active), carts: shown }, 200)
    },
  )

  api.openapi(
    route.post('/recall', 'Call all carts in', {
      description:
        'Sends a message to every screen in scope, and again whenever a screen reconnects, until DELETE /recall. ' +
        'One recall at a time for the whole site. For staff and admins.',
      middleware: [staffOnly, jsonBodyOrNone],
      request: { body: bodyOrNone(newRecallSchema) },
      responses: {
        201: json(recallSchema, 'All carts are called in.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { caller, row } = c.var.user
      const name = users.find(caller.userId)?.row.name ?? row.name
      const scope = visibleHardwareIds(caller) ?? null
      const begun = await recall.begin(c.req.valid('json').text, { userId: caller.userId, name }, scope)
      c.header('location', '/recall')
      return c.json(toRecallJson(begun), 201)
    },
  )

  api.openapi(
    route.delete('/recall', 'End the recall', {
      description: 'Notifies every screen that received the recall of its end. For staff and admins.',
      middleware: [staffOnly, jsonBodyOrNone],
      request: { body: bodyOrNone(endedRecallSchema) },
      responses: answers(deletedRecallSchema, 'The recall has ended.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { recallId } = await recall.end(c.req.valid('json').text)
      return c.json({ success: true as const, deleted: recallId }, 200)
    },
  )

  return api
}
