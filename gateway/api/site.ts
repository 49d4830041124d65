import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { siteSettingsPatchSchema, siteSettingsSchema } from '#shared/wire/site.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'
import { type ApiEnv, adminOnly, createApi, staffOnly } from './api-env.ts'
import type { CourseDeps } from './deps.ts'

/** `/site`: settings of the course, which the rules for carts use. */
export function createSiteApi({ site }: CourseDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/site', 'Get the settings of the site', {
      description: 'For staff and admins.',
      middleware: [staffOnly],
      responses: answers(siteSettingsSchema, 'All settings; the default where none is set.', 403),
    }),
    (c) => c.json(toSiteSettingsJson(site.settings), 200),
  )

  api.openapi(
    route.patch('/site', 'Change the settings of the site', {
      description:
        'A merge patch (RFC 7396): an omitted field stays unchanged, null restores the default. A day of ' +
        'opening_hours that is null is closed. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(siteSettingsPatchSchema) },
      responses: answers(siteSettingsSchema, 'All settings as they are now.', 400, 403, 413, 415),
    }),
    async (c) => c.json(toSiteSettingsJson(await site.change(c.req.valid('json'))), 200),
  )

  return api
}
