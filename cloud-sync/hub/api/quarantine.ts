import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { requireSite } from '#hub/access.ts'
import type { Database } from '#hub/store/database/database.ts'
import { clearQuarantine, listQuarantine, quarantinedBytes } from '#hub/store/site-losses.ts'
import { NotFoundError } from '#shared/errors.ts'
import { attachment } from '#shared/http/attachment.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers, described, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import {
  clearedQuarantineSchema,
  clearQuarantineQuerySchema,
  quarantineListSchema,
  quarantineParams,
} from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'
import { deletionAtSite, pageOfSite, paginationOf } from './site-routes.ts'

/** `/sites/:site/quarantine`: undamaged parts and rows that the hub could not apply, unchanged. For admins. */
export function createQuarantineApi(database: Database): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(
    listRoute('/sites/{site}/quarantine', 'List the quarantine of a site', {
      description: 'Parts and rows that arrived undamaged but that the hub could not read. For admins.',
      middleware: [adminOnly],
      ...pageOfSite(quarantineListSchema, 'Items'),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const page = c.req.valid('query')
      await requireSite(database, c.var.user, site)
      const rows = await listQuarantine(database, site, page)
      const entries = rows.map(({ seq_from, seq_to, received_at_ms, ...row }) => ({
        ...row,
        from: seq_from,
        to: seq_to,
        received_at: toIso(received_at_ms),
      }))
      return c.json({ entries, pagination: paginationOf(page, entries) }, 200)
    },
  )

  api.openapi(
    route.get('/sites/{site}/quarantine/{id}', 'Download a piece of the quarantine', {
      description: 'The bytes as the gateway sent them. For admins.',
      middleware: [adminOnly],
      request: { params: quarantineParams },
      responses: {
        200: { description: 'The bytes.', content: { 'application/octet-stream': { schema: z.string() } } },
        ...problems(403, 404),
      },
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      const bytes = await quarantinedBytes(database, site, id)
      if (bytes === undefined)
        throw new NotFoundError('quarantine_not_found', `the quarantine of the site has no item ${id}`)
      c.header('content-disposition', attachment(`quarantine-${site}-${id}.bin`))
      c.header('x-content-type-options', 'nosniff')
      // a copy without the rest of a larger buffer
      const copy = Uint8Array.from(bytes)
      return described(c.body(copy, 200, { 'content-type': 'application/octet-stream' }))
    },
  )

  api.openapi(
    route.delete('/sites/{site}/quarantine/{id}', 'Delete a piece of the quarantine', {
      description:
        'Permanently deletes one item: inspect or download it first. It then no longer keeps the site in state ' +
        'quarantined. For admins.',
      middleware: [adminOnly],
      request: { params: quarantineParams },
      responses: answers(clearedQuarantineSchema, 'How many pieces were deleted: one.', 403, 404),
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      const cleared = await clearQuarantine(database, site, { quarantineId: id })
      if (cleared === 0) throw new NotFoundError('quarantine_not_found', `the quarantine of the site has no item ${id}`)
      return c.json({ success: true as const, cleared }, 200)
    },
  )

  api.openapi(
    route.delete('/sites/{site}/quarantine', 'Empty the quarantine of a site', {
      operationId: 'clearSiteQuarantine',
      description:
        'Deletes all items up to `through`: the received_at of the newest item that you have inspected. For admins.',
      ...deletionAtSite(clearQuarantineQuerySchema, clearedQuarantineSchema, 'Number of deleted items.'),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { through } = c.req.valid('query')
      await requireSite(database, c.var.user, site)
      const cleared = await clearQuarantine(database, site, { throughMs: through })
      return c.json({ success: true as const, cleared }, 200)
    },
  )

  return api
}
