import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { jsonListBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { newReadyTextsSchema, readyTextSchema } from '#shared/wire/messages/texts.ts'
import { type ApiEnv, adminOnly, createApi, staffOnly } from '../api-env.ts'
import type { CommandsDeps } from '../deps.ts'

/** `/texts`: texts that staff send to carts with a tap. */
export function createTextsApi({ readyTexts }: CommandsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/texts', 'List the ready texts', {
      description: 'Texts for messages to carts, in both languages. For staff and admins.',
      middleware: [staffOnly],
      responses: answers(z.array(readyTextSchema), 'All texts, in the order of their author.', 403),
    }),
    (c) => c.json([...readyTexts.all()], 200),
  )

  api.openapi(
    route.put('/texts', 'Replace the ready texts', {
      description: 'Replaces the whole list; at most 20 texts. For admins.',
      middleware: [adminOnly, jsonListBody],
      request: { body: body(newReadyTextsSchema) },
      responses: answers(z.array(readyTextSchema), 'All texts as they are now.', 400, 403, 413, 415),
    }),
    async (c) => {
      await readyTexts.replace(c.req.valid('json'))
      return c.json([...readyTexts.all()], 200)
    },
  )

  return api
}
