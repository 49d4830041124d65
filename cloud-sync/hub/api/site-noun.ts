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
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

interface Asked {
  sql: Sql
  site: string
  user: HubUser
}

interface SiteNoun<Schema extends z.ZodType> {
  path: `/sites/{site}/${string}`
  summary: string
  description?: string
  middleware?: MiddlewareHandler<HubEnv>[]
  schema: Schema
  /** The description of the answer. */
  answer: string
  read(asked: Asked): Promise<z.input<Schema>>
}

interface SiteList<Query extends z.ZodObject, Schema extends z.ZodType>
  extends Omit<SiteNoun<Schema>, 'read'> {
  query: Query
  read(query: z.output<Query>, asked: Asked): Promise<z.input<Schema>>
}

/** Mounts one route. */
type SiteRoute = (api: OpenAPIHono<HubEnv>, sql: Sql) => void

/** What of sites is only read, in this order. */
export function siteRoutes(sql: Sql, routes: readonly SiteRoute[]): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  for (const mount of routes) mount(api, sql)
  return api
}

/** One object of a site as its gateway has it, for users who may see the site. */
export function siteNoun<Schema extends z.ZodType>(noun: SiteNoun<Schema>): SiteRoute {
  const { path, summary, schema, answer, read, ...rest } = noun
  const responses = answers<z.ZodType, 403 | 404>(schema, answer, 403, 404)
  const made = route.get(path, summary, { ...rest, request: { params: siteParams }, responses })
  return (api, sql) =>
    api.openapi(made, async (c) => {
      const { site } = c.req.valid('param')
      const { user } = c.var
      await requireSite(sql, user, site)
      return jsonText(c, JSON.stringify(await read({ sql, site, user })))
    })
}

/** A list of a site, for users who may see the site. Refuses a query whose `from` is after its `to`. */
export function siteList<Query extends z.ZodObject, Schema extends z.ZodType>(
  list: SiteList<Query, Schema>,
): SiteRoute {
  const { path, summary, query, schema, answer, read, ...rest } = list
  const request = { params: siteParams, query: query as z.ZodObject }
  const responses = answers<z.ZodType, 400 | 403 | 404>(schema, answer, 400, 403, 404)
  const made = listRoute(path, summary, { ...rest, request, responses })
  return (api, sql) =>
    api.openapi(made, async (c) => {
      const { site } = c.req.valid('param')
      const { user } = c.var
      // it was read by the schema of the list
      const asked = c.req.valid('query') as z.output<Query>
      requireTimes(asked)
      await requireSite(sql, user, site)
      return jsonText(c, JSON.stringify(await read(asked, { sql, site, user })))
    })
}

function requireTimes({ from, to }: { from?: unknown; to?: unknown }): void {
  if (typeof from === 'number' && typeof to === 'number') requireOrder(from, to)
}
