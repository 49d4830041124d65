import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import type { z } from 'zod'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import type { HubUser } from '#hub/store/users.ts'
import { requireOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers, jsonText } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { Clock } from '#shared/time.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** Input of a handler of a request for a site. */
interface Asked {
  sql: Sql
  site: string
  user: HubUser
  nowMs: number
}

interface SiteNoun<Schema extends z.ZodType, Params extends z.ZodObject = z.ZodObject> {
  path: `/sites/{site}/${string}`
  summary: string
  description?: string
  middleware?: MiddlewareHandler<HubEnv>[]
  /** Path parameters in addition to the site. */
  params?: Params
  schema: Schema
  /** Description of the response. */
  answer: string
  read(asked: Asked & z.output<Params>): Promise<z.input<Schema>>
}

interface SiteList<Query extends z.ZodObject, Schema extends z.ZodType>
  extends Omit<SiteNoun<Schema>, 'params' | 'read'> {
  query: Query
  read(query: z.output<Query>, asked: Asked): Promise<z.input<Schema>>
}

interface SiteRouteDeps {
  sql: Sql
  clock: Clock
}

export type SiteRoute = (api: OpenAPIHono<HubEnv>, deps: SiteRouteDeps) => void

/** Mounts the routes that only read a site, in this order. */
export function siteRoutes(deps: SiteRouteDeps, routes: readonly SiteRoute[]): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  for (const mount of routes) mount(api, deps)
  return api
}

/** Defines a route for one object of a site as its gateway has it, for users who may see the site. */
export function siteNoun<Schema extends z.ZodType, Params extends z.ZodObject>(
  noun: SiteNoun<Schema, Params>,
): SiteRoute {
  const { path, summary, params, schema, answer, read, ...rest } = noun
  const request = { params: params === undefined ? siteParams : siteParams.extend(params.shape) }
  const responses = answers<z.ZodType, 403 | 404>(schema, answer, 403, 404)
  const made = route.get(path, summary, { ...rest, request, responses })
  return (api, { sql, clock }) =>
    api.openapi(made, async (c) => {
      const { user } = c.var
      // both schemas have parsed them
      const given = c.req.valid('param') as z.output<typeof siteParams> & z.output<Params>
      await requireSite(sql, user, given.site)
      return jsonText(c, JSON.stringify(await read({ ...given, sql, user, nowMs: clock.nowMs() })))
    })
}

/** Defines a route for a list of a site, for users who may see it. Refuses a query whose `from` is after its `to`. */
export function siteList<Query extends z.ZodObject, Schema extends z.ZodType>(
  list: SiteList<Query, Schema>,
): SiteRoute {
  const { path, summary, query, schema, answer, read, ...rest } = list
  const request = { params: siteParams, query: query as z.ZodObject }
  const responses = answers<z.ZodType, 400 | 403 | 404>(schema, answer, 400, 403, 404)
  const made = listRoute(path, summary, { ...rest, request, responses })
  return (api, { sql, clock }) =>
    api.openapi(made, async (c) => {
      const { site } = c.req.valid('param')
      const { user } = c.var
      // the schema of the list has parsed it
      const asked = c.req.valid('query') as z.output<Query>
      requireTimes(asked)
      await requireSite(sql, user, site)
      return jsonText(c, JSON.stringify(await read(asked, { sql, site, user, nowMs: clock.nowMs() })))
    })
}

function requireTimes({ from, to }: { from?: unknown; to?: unknown }): void {
  if (typeof from === 'number' && typeof to === 'number') requireOrder(from, to)
}
