import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { z } from 'zod'
import { readSiteZones } from '#domain/geofences.ts'
import { toSwitchesBody } from '#services/zones/set-json.ts'
import type { SiteZoneSet } from '#services/zones/sets.ts'
import type { ChangedZones, ZonesChange } from '#services/zones/zones.ts'
import { inTurns } from '#shared/budgets/in-turns.ts'
import { AppError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { namesTag } from '#shared/http/etags.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { COMPLETED, toCompletionsJson } from '#shared/wire/geofences.ts'
import {
  type ChangedZonesJson,
  changedZonesSchema,
  ifMatchHeaders,
  type KeptZonesJson,
  keptZonesQuerySchema,
  keptZonesSchema,
  newZonesSchema,
  type ZonesJson,
  type ZonesWarningJson,
  zonesSchema,
  zoneVersionParams,
} from '#shared/wire/zones.ts'
import { toSiteFeaturesJson, withSwitches } from '#shared/wire/zones-json.ts'
import type { ZoneVersionRow } from '#store/tables/zones.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { DevicesDeps, PeopleDeps, ZonesDeps } from './deps.ts'
import { ceilToTenth } from './geofences.ts'
import { answerTagged, Representations, requireIfMatch } from './representations.ts'

const zonesBody = jsonBodyUpTo(1_048_576, { mayBeList: true })

/** Simplification tolerance in metres: an offset of a corner that is not visible on the map. */
const SEEN_M = 5

function toZonesJson({ version, zones, switches }: SiteZoneSet): ZonesJson {
  const features = withSwitches(toSiteFeaturesJson(zones), toSwitchesBody(switches))
  return { type: 'FeatureCollection', version, features }
}

function toKeptZonesJson({ version, atMs, userId, userName, count }: ZoneVersionRow): KeptZonesJson {
  return { version, at: toIso(atMs), by: { user_id: userId, name: userName }, count }
}

/** `/zones`: zones of the site, one set for all groups. */
export function createZonesApi({ zones, groups, users }: PeopleDeps & DevicesDeps & ZonesDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const representations = new Representations(toZonesJson)

  /** Returns a change on behalf of the caller, limited to the zones that the request names. */
  function changeOf(c: Context<ApiEnv>): ZonesChange {
    const { userId } = c.var.user.caller
    const ifMatch = c.req.header('if-match')
    return {
      by: { userId, name: users.find(userId)?.row.name ?? '' },
      check: (current) => {
        if (ifMatch === undefined || namesTag(ifMatch, representations.of(current).etag)) return
        const message = `the zones were changed meanwhile: they are version ${current.version} now`
        throw new AppError('precondition_failed', 'zones_changed', message)
      },
    }
  }

  function toChangedJson({ set, published }: ChangedZones, given?: unknown): ChangedZonesJson {
    return {
      success: true,
      version: set.version,
      count: set.zones.length,
      published: published.map(({ groupId, topic, simplifiedM, bytes }) => {
        return { group_id: groupId, topic, ok: true, simplified_m: ceilToTenth(simplifiedM), bytes }
      }),
      warnings: [...simplified(published), ...gone(set), ...completed(given)],
    }
  }

  function completed(given: unknown): ZonesWarningJson[] {
    return toCompletionsJson(given).map((warning) => ({ ...warning, group_id: null }))
  }

  function simplified(published: ChangedZones['published']): ZonesWarningJson[] {
    return published
      .filter(({ simplifiedM }) => simplifiedM >= SEEN_M)
      .map(({ groupId, simplifiedM }) => {
        const detail =
          `zones of group ${groupId} lost corners to fit into 16 KiB: their edges are off by up to ` +
          `${ceilToTenth(simplifiedM)} m`
        return { code: 'simplified', group_id: groupId, zone_id: null, detail }
      })
  }

  function gone(set: SiteZoneSet): ZonesWarningJson[] {
    return set.zones.flatMap(({ id, groups: named }) =>
      (named ?? [])
        .filter((groupId) => !groups.has(groupId))
        .map((groupId): ZonesWarningJson => {
          const detail = `zone ${id} names group ${groupId}, which was deleted`
          return { code: 'group_gone', group_id: groupId, zone_id: id, detail }
        }),
    )
  }

  /** Responds to a change, with the tag that the next change must name. */
  function answerChanged(c: Context<ApiEnv>, changed: ChangedZones, given?: unknown): ChangedZonesJson {
    c.header('etag', representations.of(changed.set).etag)
    return toChangedJson(changed, given)
  }

  api.openapi(
    route.get('/zones', 'Get the zones of the site', {
      description:
        'GeoJSON with an ETag. One set for all groups; a zone may name the groups that it applies to. Groups may ' +
        'have zones of their own in addition. Answers 304 if If-None-Match has the current ETag.',
      responses: {
        200: json(zonesSchema, 'The zones of the site; none at version 0 if none were ever set.'),
        304: { description: 'The zones have not changed since the version in If-None-Match.' },
        ...problems(),
      },
    }),
    (c) => answerTagged(c, representations.of(zones.current)),
  )

  api.openapi(
    route.put('/zones', 'Set the zones of the site', {
      description:
        'Replaces all zones of the site. Teeboxes of each group receive those that apply to it and its own, ' +
        'simplified if they exceed 16 KiB. If-Match is required, so that the second of two concurrent changes ' +
        'is rejected. Temporary overrides of the changed zones end. ' +
        COMPLETED +
        ' For admins.',
      middleware: [adminOnly, requireIfMatch, zonesBody],
      request: { headers: ifMatchHeaders, body: body(newZonesSchema) },
      responses: answers(
        changedZonesSchema,
        'The zones are stored and published, with warnings about omitted parts.',
        400,
        403,
        412,
        413,
        415,
        428,
      ),
    }),
    async (c) => {
      const read = await inTurns(readSiteZones(c.req.valid('json'), zones.idsOfGroups()))
      const changed = await zones.replace(read, changeOf(c))
      return c.json(answerChanged(c, changed, await c.req.json()), 200)
    },
  )

  api.openapi(
    listRoute('/zones/versions', 'List the kept zones of the site', {
      description:
        'The last 20 saved sets, newest first: the newest is in force, except for temporary overrides. Numbers ' +
        'may have gaps. For admins.',
      middleware: [adminOnly],
      request: { query: keptZonesQuerySchema },
      responses: answers(z.array(keptZonesSchema), 'The sets that are kept, newest first.', 400, 403),
    }),
    (c) => c.json(inOrder(zones.versions().toReversed(), c.req.valid('query').order).map(toKeptZonesJson), 200),
  )

  api.openapi(
    route.post('/zones/versions/{version}/restore', 'Restore zones of the site', {
      description:
        'Restores a kept set as a new version. Temporary overrides of the changed zones end. An If-Match header ' +
        'must match if sent. For admins.',
      middleware: [adminOnly],
      request: { headers: ifMatchHeaders, params: zoneVersionParams },
      responses: answers(changedZonesSchema, 'The zones are stored and published.', 400, 403, 404, 412),
    }),
    async (c) => {
      const { version } = c.req.valid('param')
      return c.json(answerChanged(c, await zones.restore(version, changeOf(c))), 200)
    },
  )

  return api
}
