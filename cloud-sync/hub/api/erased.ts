import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireDevice, requireSite } from '#hub/access.ts'
import { deleteErased, deleteRestored, listErased, restoreErased } from '#hub/store/erased.ts'
import { ConflictError } from '#shared/errors.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import {
  deletedErasedSchema,
  deletedRestoredSchema,
  deleteErasedQuerySchema,
  erasedListSchema,
  restoredErasedSchema,
  restoreErasedSchema,
  siteDeviceParams,
  siteParams,
} from '#shared/wire/sites.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'
import { deletionAtSite, pageOfSite, paginationOf } from './site-routes.ts'

/** A thousand ids fit. */
const restoreBody = jsonBodyUpTo(128 * 1024)

/** `/sites/:site/erased`: the telemetry and devices that a site erased, while they are kept. For admins. */
export function createErasedApi(deps: PeopleApiDeps): OpenAPIHono<HubEnv> {
  const { database, clock, erasedKeepDays, log } = deps
  const api = createHubPart()

  api.openapi(
    listRoute('/sites/{site}/erased', 'List what a site erased', {
      description:
        'Telemetry that the gateway had erased and devices that it no longer has. No other response has ' +
        'them; they can be restored for CARTBARN_HUB_ERASED_KEEP_DAYS. For admins.',
      middleware: [adminOnly],
      ...pageOfSite(erasedListSchema, 'What was erased'),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const page = c.req.valid('query')
      await requireSite(database, c.var.user, site)
      const items = await listErased(database, site, page)
      const erased = items.map(({ hardwareId, what, erasedAtMs, records, bytes }) => ({
        hardware_id: hardwareId,
        what,
        records,
        bytes,
        erased_at: toIso(erasedAtMs),
        deleted_at: toIso(erasedAtMs + erasedKeepDays * DAY_MS),
      }))
      return c.json({ erased, pagination: paginationOf(page, erased) }, 200)
    },
  )

  api.openapi(
    route.post('/sites/{site}/erased/restore', 'Put back what a site erased', {
      operationId: 'restoreSiteErased',
      description:
        'For a stolen site key or gateway: first revoke the keys of the site, then put back what was erased ' +
        'since. Of one time, the record that was erased wins over one that came later. The gateway is not asked ' +
        'to take anything back; a later audit of the sync counts the records as extra and leaves them. For ' +
        'admins.',
      middleware: [adminOnly, restoreBody],
      request: { params: siteParams, body: body(restoreErasedSchema) },
      responses: answers(restoredErasedSchema, 'How much was put back.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { since, hardware_ids } = c.req.valid('json')
      const { user } = c.var
      await requireSite(database, user, site)
      const scope = { sinceMs: since, hardwareIds: hardware_ids }
      const restored = await restoreErased(database, site, scope, clock.nowMs())
      log.info({ site, userId: user.userId, ...restored }, 'an admin restored data that a site had erased')
      return c.json({ success: true as const, ...restored }, 200)
    },
  )

  api.openapi(
    route.delete('/sites/{site}/erased', 'Permanently delete the data that a site erased', {
      operationId: 'deleteSiteErased',
      description: 'Deletes it immediately instead of after CARTBARN_HUB_ERASED_KEEP_DAYS. For admins.',
      ...deletionAtSite(deleteErasedQuerySchema, deletedErasedSchema, 'Numbers of deleted items.'),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { through } = c.req.valid('query')
      await requireSite(database, c.var.user, site)
      const deleted = await deleteErased(database, site, through)
      return c.json({ success: true as const, deleted }, 200)
    },
  )

  api.openapi(
    route.delete('/sites/{site}/devices/{id}', 'Delete a restored device', {
      operationId: 'deleteSiteRestoredDevice',
      description:
        'Permanently deletes a restored device that its gateway does not have, with its history. Its ' +
        'events stay. For admins.',
      middleware: [adminOnly],
      request: { params: siteDeviceParams },
      responses: answers(deletedRestoredSchema, 'The device is gone.', 403, 404, 409),
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      const { hardwareId } = await requireDevice(database, c.var.user, site, id)
      if (!(await deleteRestored(database, site, hardwareId)))
        throw new ConflictError('device_not_restored', 'the gateway of the site has this device: delete it there')
      return c.json({ success: true as const, deleted: hardwareId }, 200)
    },
  )

  return api
}
