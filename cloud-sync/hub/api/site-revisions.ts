import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireSite } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { entitiesOf } from '#hub/store/entities.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers } from '#shared/http/responses.ts'
import { entityRev } from '#shared/sync-hash.ts'
import {
  type SiteRevision,
  siteRevisionsQuerySchema,
  siteRevisionsSchema,
} from '#shared/wire/replication/site-intents.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { operatorOnly } from './guards.ts'

/** The kind of object that each of these tables holds, as intents name it. */
const SUBJECTS = {
  device_config: (key) => ({ kind: 'config.set', hardware_id: key }),
  group_config: (key) => {
    const [groupId = '', ...type] = key.split('/')
    return { kind: 'config.set', group_id: Number(groupId), device_type: type.join('/') }
  },
  geofence_set: (key) => ({ kind: 'geofence.put', group_id: Number(key) }),
  user: (key) => ({ kind: 'user.disable', user_id: key }),
} as const satisfies Record<string, (key: string) => Omit<SiteRevision, 'rev'>>

/** `/sites/:site/revisions`: the revisions that an intent may name as its base. */
export function createSiteRevisionsApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    listRoute('/sites/{site}/revisions', 'List the revisions that intents can name', {
      description:
        'The revision of each object that an intent can change, as the gateway last reported it. Give it as base_rev, and the gateway refuses the intent if the object was changed at the site meanwhile. For operators and admins.',
      middleware: [operatorOnly],
      request: { params: siteParams, query: siteRevisionsQuerySchema },
      responses: answers(siteRevisionsSchema, 'All revisions of the site.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(sql, c.var.user, site)
      const revisions: SiteRevision[] = []
      for (const { table, key, body } of await entitiesOf(sql, site, Object.keys(SUBJECTS))) {
        // only these tables were asked for
        const subject = SUBJECTS[table as keyof typeof SUBJECTS]
        const named = subject(key)
        // a key that no gateway of ours writes names nothing
        if ('group_id' in named && !Number.isSafeInteger(named.group_id)) continue
        revisions.push({ ...named, rev: entityRev(JSON.parse(body)) })
      }
      return c.json(
        { revisions: [...inOrder(revisions, c.req.valid('query').order)], none: entityRev(null) },
        200,
      )
    },
  )
  return api
}
