import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { listSiteGroups } from '#hub/store/site-groups.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { toIso } from '#shared/time.ts'
import { groupSchema } from '#shared/wire/groups.ts'
import { idListQuerySchema } from '#shared/wire/schema/params.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** `/sites/:site/groups`: the groups of a site as its gateway has them. */
export function createSiteGroupsApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    listRoute('/sites/{site}/groups', 'List the groups of a site', {
      request: { params: siteParams, query: idListQuerySchema },
      responses: answers(z.array(groupSchema), 'Groups, by group_id.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      const groups = inOrder(await listSiteGroups(sql, site), c.req.valid('query').order)
      return c.json(
        groups.map((group) => ({
          group_id: group.groupId,
          name: group.name,
          device_count: group.deviceCount,
          geofence_version: group.geofenceVersion,
          created_at: toIso(group.createdAtMs),
          updated_at: toIso(group.updatedAtMs),
        })),
        200,
      )
    },
  )
  return api
}
