import { type OpenAPIHono, z } from '@hono/zod-openapi'
import { requireSite, visibleSites } from '#hub/access.ts'
import { type HubTimes, siteHealth, timesOf, unconfirmedRows } from '#hub/sites/state.ts'
import {
  type AuditFigures,
  pageOfSites,
  renameSite,
  type SiteFigures,
  type SiteRow,
  siteFigures,
} from '#hub/store/site-figures.ts'
import { listGaps } from '#hub/store/site-losses.ts'
import { importFile } from '#hub/sync/import-file.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import { syncFileReceiptSchema } from '#shared/wire/replication/sync-file.ts'
import {
  gapListSchema,
  issuedSiteSchema,
  newSiteSchema,
  revokedSiteKeysSchema,
  rotatedSiteKeySchema,
  type SiteJson,
  siteListQuerySchema,
  siteListSchema,
  siteParams,
  sitePatchSchema,
  siteSchema,
} from '#shared/wire/sites.ts'
import { KEY_WARNING } from '#shared/wire/users.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'
import { pageOfSite, paginationOf } from './site-routes.ts'

/** `/sites`: the sites, the state of each, and the keys of their gateways. */
export function createSitesApi({
  database,
  sites: all,
  budgets,
  clock,
  continuity,
  erasedKeepDays,
  monotonicClock,
}: PeopleApiDeps): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  const importing = { database, clock, budgets, keepsErased: erasedKeepDays > 0 }

  async function toJson(sites: readonly SiteRow[]): Promise<SiteJson[]> {
    const siteIds = sites.map(({ site_id }) => site_id)
    const figures = await siteFigures(database, siteIds)
    const times = await timesOf({ continuity, clock, monotonicClock }, siteIds)
    return sites.flatMap((site) => {
      const ofSite = figures.get(site.site_id)
      return ofSite === undefined ? [] : [toSiteJson(site, ofSite, times, budgets.maxBytes)]
    })
  }

  async function oneJson(site: SiteRow): Promise<SiteJson> {
    const [only] = await toJson([site])
    if (only === undefined) throw new Error(`no figures for site ${site.site_id}`)
    return only
  }

  api.openapi(
    listRoute('/sites', 'List sites', {
      description: 'The sites in the scope of the caller and the state of each, by site_id.',
      request: { query: siteListQuerySchema },
      responses: answers(siteListSchema, 'Sites in scope, by site_id.', 400),
    }),
    async (c) => {
      const { order, limit, offset } = c.req.valid('query')
      const rows = await pageOfSites(database, visibleSites(c.var.user), { order, limit, offset })
      const sites = await toJson(rows)
      return c.json({ sites, pagination: { limit, offset, returned: sites.length } }, 200)
    },
  )

  api.openapi(
    route.post('/sites', 'Add a site', {
      description: 'Issues the key with which the gateway of the site connects; only this answer shows it. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newSiteSchema) },
      responses: {
        201: json(issuedSiteSchema, 'The site and its key.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { site_id, name } = c.req.valid('json')
      const { siteId, key } = await all.add(name, site_id)
      c.header('location', `/sites/${siteId}`)
      return c.json({ site_id: siteId, name, key, warning: KEY_WARNING }, 201)
    },
  )

  api.openapi(
    route.get('/sites/{site}', 'Get a site', {
      request: { params: siteParams },
      responses: answers(siteSchema, 'The site and its state.', 403, 404),
    }),
    async (c) => c.json(await oneJson(await requireSite(database, c.var.user, c.req.valid('param').site)), 200),
  )

  api.openapi(
    route.patch('/sites/{site}', 'Rename a site', {
      description: 'For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: siteParams, body: body(sitePatchSchema) },
      responses: answers(siteSchema, 'The site as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { name } = c.req.valid('json')
      await requireSite(database, c.var.user, site)
      if (name !== undefined) await renameSite(database, site, name)
      return c.json(await oneJson(await requireSite(database, c.var.user, site)), 200)
    },
  )

  api.openapi(
    route.post('/sites/{site}/keys', 'Issue a new key for a site', {
      operationId: 'rotateSiteKey',
      description:
        'Revokes the earlier keys of the site immediately. Its gateway cannot send until it has the new key, but ' +
        'continues to work and loses no data. For admins.',
      middleware: [adminOnly],
      request: { params: siteParams },
      responses: answers(rotatedSiteKeySchema, 'The new key, which only this answer shows.', 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      const key = await all.rotate(site)
      return c.json({ success: true as const, site_id: site, key, warning: KEY_WARNING }, 200)
    },
  )

  api.openapi(
    route.delete('/sites/{site}/keys', 'Revoke all keys of a site', {
      description: 'The hub keeps the data of the site and accepts no more until the site has a new key. For admins.',
      middleware: [adminOnly],
      request: { params: siteParams },
      responses: answers(revokedSiteKeysSchema, 'How many keys were revoked.', 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      const revoked = await all.revoke(site)
      return c.json({ success: true as const, revoked }, 200)
    },
  )

  api.openapi(
    route.post('/sites/{site}/import', 'Import a sync file of a gateway', {
      operationId: 'importSite',
      description:
        'The body is the file that GET /sync/export of the gateway wrote. The hub checks it in the same way as ' +
        'pushes of gateways, so importing the same file twice is harmless. Return the receipt to the gateway ' +
        '(POST /sync/receipts), or let the gateway find out when it is online. For admins.',
      middleware: [adminOnly],
      request: {
        params: siteParams,
        body: { required: true, content: { 'application/gzip': { schema: z.string() } } },
      },
      responses: answers(syncFileReceiptSchema, 'The receipt for the gateway.', 400, 403, 404, 409),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      await requireSite(database, c.var.user, site)
      const { body: file } = c.req.raw
      if (file === null) throw new InvalidRequestError('invalid_file', 'the file is missing')
      return c.json(await importFile(importing, site, file), 200)
    },
  )

  api.openapi(
    listRoute('/sites/{site}/gaps', 'List the gaps of a site', {
      description: 'Records that the gateway deleted before it could send them.',
      ...pageOfSite(gapListSchema, 'Gaps'),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const page = c.req.valid('query')
      await requireSite(database, c.var.user, site)
      const rows = await listGaps(database, site, page)
      const gaps = rows.map((row) => ({
        note_id: row.note_id,
        stream: row.stream,
        from: toIso(row.from_ms),
        to: toIso(row.to_ms),
        rows: row.row_count,
        reason: row.reason,
        recorded_at: toIso(row.at_ms),
      }))
      return c.json({ gaps, pagination: paginationOf(page, gaps) }, 200)
    },
  )

  return api
}

function toSiteJson(site: SiteRow, figures: SiteFigures, times: HubTimes, maxBytes: number): SiteJson {
  const { state, explanation, warnings } = siteHealth(site, figures, times, maxBytes)
  const { nowMs } = times
  const { last_seen_ms: seenMs } = site
  return {
    site_id: site.site_id,
    name: site.name,
    created_at: toIso(site.created_at_ms),
    state,
    explanation,
    warnings,
    devices: figures.devices,
    freshness: {
      last_seen: isoOrNull(seenMs),
      seconds: seenMs === null ? null : Math.max(0, (nowMs - seenMs) / 1000),
    },
    backlog: { rows: site.backlog_rows, oldest: isoOrNull(site.backlog_oldest_ms) },
    unconfirmed_rows: unconfirmedRows(site, times),
    storage: { bytes: site.stored_bytes, max_bytes: maxBytes === 0 ? null : maxBytes },
    gaps: { count: figures.gapCount, rows: figures.gapRows },
    audit: figures.audit === null ? null : toAuditJson(figures.audit),
    clock: { offset_ms: site.clock_offset_ms, is_trusted: site.is_clock_trusted },
    program: site.program,
    epochs: figures.epochs.map(({ epoch, forked_from, reason, first_seen_ms, last_seen_ms }) => ({
      epoch,
      forked_from,
      reason,
      first_seen: toIso(first_seen_ms),
      last_seen: toIso(last_seen_ms),
    })),
    keys: figures.keys,
  }
}

function toAuditJson({ auditedAtMs, rows, confirmed, missing, extra }: AuditFigures): SiteJson['audit'] {
  const summary = `${confirmed.toLocaleString('en-US')} of ${rows.toLocaleString('en-US')}`
  return { audited_at: toIso(auditedAtMs), rows, confirmed, missing, extra, summary }
}
