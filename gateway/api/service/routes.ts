import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { requireStillIn } from '#services/people/login.ts'
import type { DueOfCart } from '#services/service/service-book.ts'
import { inOrder, paginationOf, requireOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  type DueServiceJson,
  deletedServiceSchema,
  dueListSchema,
  dueQuerySchema,
  entryParams,
  newServiceEntrySchema,
  newServicePlanSchema,
  planParams,
  serviceEntryListSchema,
  serviceEntryPatchSchema,
  serviceEntryQuerySchema,
  serviceEntrySchema,
  servicePlanPatchSchema,
  servicePlanQuerySchema,
  servicePlanSchema,
  servicePlansSchema,
} from '#shared/wire/service/service.ts'
import { type ApiEnv, adminOnly, createApi, listerOf, requireStaff, staffOnly } from '../api-env.ts'
import type { CourseDeps, PeopleDeps } from '../deps.ts'

/** `/service-entries`, `/service-plans` and `/service-due`: the service book of the carts. For staff. */
export function createServiceApi({ serviceBook, visibleCarts, users }: PeopleDeps & CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  function personOf(c: Context<ApiEnv>) {
    const { userId } = c.var.user.caller
    return { user_id: userId, name: users.find(userId)?.row.name ?? '' }
  }

  /** Returns the caller's current rights, because reading a meter takes a while. */
  function staffNow(c: Context<ApiEnv>) {
    const { user } = c.var
    return () => {
      const caller = requireStillIn(user)
      requireStaff(caller)
      return caller
    }
  }

  api.openapi(
    listRoute('/service-entries', 'List service entries', {
      description: 'What was done to carts in scope. For staff and admins.',
      middleware: [staffOnly],
      request: { query: serviceEntryQuerySchema },
      responses: answers(serviceEntryListSchema, 'Entries, by done_at.', 400, 403),
    }),
    async (c) => {
      const { cart, plan_id: planId, from: fromMs, to: toMs, order, limit, offset } = c.req.valid('query')
      if (fromMs !== undefined && toMs !== undefined) requireOrder(fromMs, toMs)
      const query = { cart, planId, fromMs, toMs, order, limit, offset }
      const entries = await serviceBook.list(c.var.user.caller, query, listerOf(c, offset > 0))
      return c.json({ entries, pagination: paginationOf(query, entries) }, 200)
    },
  )

  api.openapi(
    route.post('/service-entries', 'Create a service entry', {
      description: 'The entry gets the meter of the cart at done_at. For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { body: body(newServiceEntrySchema) },
      responses: { 201: json(serviceEntrySchema, 'The entry.'), ...problems(400, 403, 404, 413, 415) },
    }),
    async (c) => {
      const entry = await serviceBook.create(staffNow(c), c.req.valid('json'), personOf(c))
      c.header('location', `/service-entries/${entry.entry_id}`)
      return c.json(entry, 201)
    },
  )

  api.openapi(
    route.patch('/service-entries/{id}', 'Change a service entry', {
      description: 'A merge patch (RFC 7396). For staff and admins.',
      middleware: [staffOnly, jsonBody],
      request: { params: entryParams, body: body(serviceEntryPatchSchema) },
      responses: answers(serviceEntrySchema, 'The entry as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => c.json(await serviceBook.patch(staffNow(c), c.req.valid('param').id, c.req.valid('json')), 200),
  )

  api.openapi(
    route.delete('/service-entries/{id}', 'Delete a service entry', {
      middleware: [adminOnly],
      request: { params: entryParams },
      responses: answers(deletedServiceSchema, 'The entry is deleted.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await serviceBook.delete(c.var.user.caller, id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    listRoute('/service-plans', 'List service plans', {
      description: 'For staff and admins.',
      middleware: [staffOnly],
      request: { query: servicePlanQuerySchema },
      responses: answers(servicePlansSchema, 'Plans, by created_at.', 400, 403),
    }),
    (c) => c.json(inOrder(serviceBook.plansFor(c.var.user.caller), c.req.valid('query').order), 200),
  )

  api.openapi(
    route.post('/service-plans', 'Create a service plan', {
      description: 'It counts from the newest entry of the cart with this plan, else from now.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newServicePlanSchema) },
      responses: { 201: json(servicePlanSchema, 'The plan.'), ...problems(400, 403, 404, 409, 413, 415) },
    }),
    async (c) => {
      const plan = await serviceBook.createPlan(c.req.valid('json'), personOf(c))
      c.header('location', `/service-plans/${plan.plan_id}`)
      return c.json(serviceBook.toJson(c.var.user.caller, plan), 201)
    },
  )

  api.openapi(
    route.patch('/service-plans/{id}', 'Change a service plan', {
      description: 'A merge patch (RFC 7396). The plan counts as before.',
      middleware: [adminOnly, jsonBody],
      request: { params: planParams, body: body(servicePlanPatchSchema) },
      responses: answers(servicePlanSchema, 'The plan as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const plan = await serviceBook.patchPlan(c.req.valid('param').id, c.req.valid('json'))
      return c.json(serviceBook.toJson(c.var.user.caller, plan), 200)
    },
  )

  api.openapi(
    route.delete('/service-plans/{id}', 'Delete a service plan', {
      description: 'Its entries stay.',
      middleware: [adminOnly],
      request: { params: planParams },
      responses: answers(deletedServiceSchema, 'The plan is deleted.', 403, 404),
    }),
    async (c) => {
      const { id } = c.req.valid('param')
      await serviceBook.deletePlan(id)
      return c.json({ success: true as const, deleted: id }, 200)
    },
  )

  api.openapi(
    listRoute('/service-due', 'List due services', {
      description: 'The services of carts in scope by the plans. For staff and admins.',
      middleware: [staffOnly],
      request: { query: dueQuerySchema },
      responses: answers(dueListSchema, 'Services, the most urgent first.', 400, 403),
    }),
    async (c) => {
      const { state, order } = c.req.valid('query')
      const all = await serviceBook.due(visibleCarts.all(c.var.user.caller))
      const due = all.filter((one) => state === undefined || one.state === state).map(toDueJson)
      return c.json({ due: inOrder(due, order) }, 200)
    },
  )

  return api
}

function toDueJson({ cart, plan, state, left, lastDoneAt }: DueOfCart): DueServiceJson {
  return { cart, plan_id: plan.plan_id, name: plan.name, state, left, last_done_at: lastDoneAt }
}
