import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { siteCourseOf } from '#hub/store/site-course.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { courseSchema } from '#shared/wire/course.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** `/sites/:site/course`: the drawing of a site's course. */
export function createSiteCourseApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    route.get('/sites/{site}/course', 'Get the drawing of the course of a site', {
      description: 'As GeoJSON. The photo below it stays at the site.',
      request: { params: siteParams },
      responses: answers(
        courseSchema,
        'As its gateway has it; empty while there never was one, and of one that is too large to be sent.',
        403,
        404,
      ),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      return c.json(await siteCourseOf(sql, site), 200)
    },
  )
  return api
}
