import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { siteSettingsOf } from '#hub/store/site-settings.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { siteSettingsSchema } from '#shared/wire/site.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** `/sites/:site/site`: the course as its people describe it. */
export function createSiteSettingsApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    route.get('/sites/{site}/site', 'Get the settings of a site', {
      request: { params: siteParams },
      responses: answers(
        siteSettingsSchema,
        'As its gateway has them; the default for what nobody has set.',
        403,
        404,
      ),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      return c.json(toSiteSettingsJson(await siteSettingsOf(sql, site)), 200)
    },
  )
  return api
}
