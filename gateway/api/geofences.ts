import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import { readZones } from '#domain/geofences.ts'
import type { GeofenceSet } from '#services/zones/sets.ts'
import { inTurns } from '#shared/budgets/in-turns.ts'
import { NotFoundError } from '#shared/errors.ts'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  type ChangedGeofencesJson,
  COMPLETED,
  changedGeofencesSchema,
  geofenceIdParams,
  groupGeofencesSchema,
  legacyGeofencesSchema,
  newGeofencesSchema,
  toCompletionsJson,
} from '#shared/wire/geofences.ts'
import { groupIdParams } from '#shared/wire/groups.ts'
import { zonesTopic } from '#shared/wire/mqtt.ts'
import { toGeofencesJson } from '#shared/wire/zones-json.ts'
import { type ApiEnv, adminOnly, createApi, staffOnly } from './api-env.ts'
import type { DevicesDeps, ZonesDeps } from './deps.ts'

const geofencesBody = jsonBodyUpTo(1_048_576, { mayBeList: true })

/** 2026-01-01: the paths below /groups exist since the first release. Source for the form: RFC 9745, 2.1. */
const DEPRECATED_SINCE = '@1767225600'

/** Marks a path as deprecated and links its successor. Source: RFC 9745, RFC 5829. */
const isLegacy: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await next()
  c.header('deprecation', DEPRECATED_SINCE)
  const id = c.req.param('id') ?? ''
  if (/^\d+$/.test(id)) c.header('link', `</groups/${id}/geofences>; rel="successor-version"`)
}

/** Rounds up to a tenth of a metre, so that the result is never less than the exact length. */
export function ceilToTenth(metres: number): number {
  return Math.ceil(metres * 10) / 10
}

export function toGroupGeofencesJson({ groupId, version, zones }: GeofenceSet) {
  return { ...toGeofencesJson(zones), group_id: groupId, version }
}

/** Throws `group_not_found` if neither a group nor zones exist under the id. */
export function requireGeofences({ geofences, groups }: DevicesDeps & ZonesDeps, id: number): GeofenceSet {
  if (groups.has(id) || geofences.has(id)) return geofences.of(id)
  throw new NotFoundError('group_not_found', `neither a group nor geofences exist under ${id}`)
}

/** Geofences of groups, with their deprecated paths. Staff may read those of groups. */
export function createGeofencesApi(deps: DevicesDeps & ZonesDeps): OpenAPIHono<ApiEnv> {
  const { geofences, groups, deviceTypes } = deps
  const api = createApi()

  function toChangedJson({ groupId, version, zones }: GeofenceSet, given?: unknown): ChangedGeofencesJson {
    const warnings = toCompletionsJson(given)
    const lossM = geofences.lossMOf(groupId)
    const fetchers = groups
      .devicesOf(groupId)
      .filter(({ row }) => deviceTypes.find(row.deviceType)?.downloadsZones === true)
    return {
      success: true,
      group_id: groupId,
      version,
      count: zones.length,
      published: {
        teebox: {
          topic: zonesTopic(groupId),
          ok: true as const,
          ...(lossM > 0 && { simplified_m: ceilToTenth(lossM) }),
        },
      },
      ...(warnings.length > 0 && { warnings }),
      fetch_required: fetchers.map(({ row }) => row.hardwareId),
    }
  }

  api.openapi(
    route.get('/groups/{groupId}/geofences', 'Get the zones of a group', {
      description: 'As GeoJSON. For staff and admins.',
      middleware: [staffOnly],
      request: { params: groupIdParams },
      responses: answers(groupGeofencesSchema, 'The zones of the group.', 400, 403, 404),
    }),
    (c) => {
      const { groupId } = groups.require(c.req.valid('param').groupId)
      return c.json(toGroupGeofencesJson(geofences.of(groupId)), 200)
    },
  )

  api.openapi(
    route.put('/groups/{groupId}/geofences', 'Set the zones of a group', {
      description:
        'Replaces all zones of the group and publishes them to teeboxes; cartcaddies need the command ' +
        `fetch_geofences. ${COMPLETED} For admins.`,
      middleware: [adminOnly, geofencesBody],
      request: { params: groupIdParams, body: body(newGeofencesSchema) },
      responses: {
        200: json(changedGeofencesSchema, 'The zones of the group as they are now; published to teeboxes.'),
        ...problems(400, 403, 404, 413, 415),
      },
    }),
    async (c) => {
      const { groupId } = groups.require(c.req.valid('param').groupId)
      const zones = await inTurns(readZones(c.req.valid('json'), geofences.idsOfSite()))
      return c.json(
        toChangedJson(await geofences.replace(groupId, zones, () => groups.require(groupId)), await c.req.json()),
        200,
      )
    },
  )

  api.openapi(
    route.get('/geofences/{id}', 'Get zones by their id', {
      description: 'The older path to the zones of a group. For admins.',
      deprecated: true,
      middleware: [isLegacy, adminOnly],
      request: { params: geofenceIdParams },
      responses: answers(legacyGeofencesSchema, 'The zones under this id.', 400, 403, 404),
    }),
    (c) => {
      const { id } = c.req.valid('param')
      return c.json({ ...toGroupGeofencesJson(requireGeofences(deps, id)), device_group_id: id }, 200)
    },
  )

  api.openapi(
    route.put('/geofences/{id}', 'Set zones by their id', {
      description: `The older path; the id need not be that of a group. ${COMPLETED} For admins.`,
      deprecated: true,
      middleware: [isLegacy, adminOnly, geofencesBody],
      request: { params: geofenceIdParams, body: body(newGeofencesSchema) },
      responses: {
        200: json(changedGeofencesSchema, 'The zones under this id as they are now.'),
        ...problems(400, 403, 413, 415),
      },
    }),
    async (c) => {
      const zones = await inTurns(readZones(c.req.valid('json'), geofences.idsOfSite()))
      return c.json(toChangedJson(await geofences.replace(c.req.valid('param').id, zones), await c.req.json()), 200)
    },
  )

  api.openapi(
    route.delete('/geofences/{id}', 'Delete zones by their id', {
      description: 'The older path; an empty set is published. For admins.',
      deprecated: true,
      middleware: [isLegacy, adminOnly],
      request: { params: geofenceIdParams },
      responses: {
        200: json(changedGeofencesSchema, 'The zones are deleted; an empty set is published to teeboxes.'),
        ...problems(400, 403, 404),
      },
    }),
    async (c) => {
      const { groupId } = requireGeofences(deps, c.req.valid('param').id)
      return c.json(toChangedJson(await geofences.replace(groupId, [])), 200)
    },
  )

  return api
}
