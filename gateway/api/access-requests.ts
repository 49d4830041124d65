import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { AccessRequest } from '#services/people/access-requests.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import {
  type AccessRequestJson,
  accessRequestSchema,
  allowedAccessSchema,
  allowedRequestSchema,
  createdAccessRequestSchema,
  deletedAccessRequestSchema,
  newAccessRequestSchema,
  requestIdParams,
} from '#shared/wire/access-requests.ts'
import { oldestListQuerySchema } from '#shared/wire/schema/params.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { PeopleDeps } from './deps.ts'
import { requireOwnOriginIfAny } from './sessions.ts'

function toAccessRequestJson(request: AccessRequest): AccessRequestJson {
  const { requestId, name, check, address, createdAtMs, expires, allowedUserId } = request
  return {
    request_id: requestId,
    name,
    check,
    address,
    created_at: toIso(createdAtMs),
    expires_at: toIso(expires.atMs),
    allowed: allowedUserId !== null,
  }
}

/** `POST /access-requests` needs no key, so it is mounted before the key check. */
export function createAskForAccessApi({ accessRequests, origins }: PeopleDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.post('/access-requests', 'Ask for access', {
      description:
        'For a tablet without a code: once an admin has approved it, POST /sessions with request_id and secret ' +
        'signs the tablet in. Needs no key. Up to 3 requests of an address and 20 in all wait for 10 minutes.',
      middleware: [jsonBody],
      request: { body: body(newAccessRequestSchema) },
      responses: {
        201: json(createdAccessRequestSchema, 'The request waits for an admin.'),
        ...problems(400, 403, 413, 415),
      },
    }),
    async (c) => {
      requireOwnOriginIfAny(c)
      const { address } = c.var
      const asking = { userId: null, address, person: null, sessionId: null }
      const { request, secret } = await origins.run(asking, () =>
        accessRequests.create(c.req.valid('json').name, address),
      )
      const { request_id, check, expires_at } = toAccessRequestJson(request)
      c.header('location', `/access-requests/${request_id}`)
      return c.json({ request_id, secret, check, expires_at }, 201)
    },
  )

  return api
}

/** `/access-requests`: tablets that request access. For admins. */
export function createAccessRequestsApi({ accessRequests }: PeopleDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/access-requests', 'List who asks for access', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { query: oldestListQuerySchema },
      responses: answers(z.array(accessRequestSchema), 'Waiting requests, oldest first.', 400, 403),
    }),
    (c) => c.json(inOrder(accessRequests.all(), c.req.valid('query').order).map(toAccessRequestJson), 200),
  )

  api.openapi(
    route.post('/access-requests/{id}/allow', 'Let a tablet in', {
      description: 'Compare the four digits on both screens first. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: requestIdParams, body: body(allowedRequestSchema) },
      responses: answers(allowedAccessSchema, 'The tablet may sign in as this user.', 400, 403, 404, 409, 413, 415),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await accessRequests.allow(id, c.req.valid('json').user_id)
      return c.json({ success: true as const, request_id: id }, 200)
    },
  )

  api.openapi(
    route.delete('/access-requests/{id}', 'Turn a tablet away', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { params: requestIdParams },
      responses: answers(deletedAccessRequestSchema, 'The request is deleted; the tablet cannot sign in.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await accessRequests.delete(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  return api
}
