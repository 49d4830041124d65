import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { siteZonesOf } from '#hub/store/site-zones.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { zonesSchema } from '#shared/wire/zones.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** `/sites/:site/zones`: the zones of a site for all its groups. */
export function createSiteZonesApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    route.get('/sites/{site}/zones', 'Get the zones of a site', {
      description: 'Those for all groups, as GeoJSON; groups may have zones of their own beside them.',
      request: { params: siteParams },
      responses: answers(
        zonesSchema,
        'As its gateway has them; none at version 0 while there never were any.',
        403,
        404,
      ),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      return c.json(await siteZonesOf(sql, site), 200)
    },
  )
  return api
}
