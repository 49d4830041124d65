import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { canSee } from '#domain/access.ts'
import type { Groups } from '#services/configuration/groups.ts'
import { NotFoundError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { deviceListSchema } from '#shared/wire/devices.ts'
import {
  assignmentSchema,
  deletedGroupSchema,
  type GroupJson,
  groupDeviceParams,
  groupIdParams,
  groupPatchSchema,
  groupSchema,
  newGroupSchema,
} from '#shared/wire/groups.ts'
import { idListQuerySchema, idPageQuerySchema } from '#shared/wire/schema/params.ts'
import { type ApiEnv, adminOnly, createApi, staffOnly } from './api-env.ts'
import type { DevicesDeps } from './deps.ts'
import { toDeviceJson } from './json/device-json.ts'

/** `/groups`: groups and their devices. Staff may read them. */
export function createGroupsApi({ groups, devices, fleet }: DevicesDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  function toGroupJson(row: ReturnType<Groups['require']>, counts = groups.deviceCounts()): GroupJson {
    return {
      group_id: row.groupId,
      name: row.name,
      device_count: counts.get(row.groupId) ?? 0,
      geofence_version: groups.geofenceVersionOf(row.groupId),
      created_at: toIso(row.createdAtMs),
      updated_at: toIso(row.updatedAtMs),
    }
  }

  api.openapi(
    listRoute('/groups', 'List groups', {
      description: 'All groups, by group_id. For staff and admins.',
      middleware: [staffOnly],
      request: { query: idListQuerySchema },
      responses: answers(z.array(groupSchema), 'All groups, by group_id.', 400, 403),
    }),
    (c) => {
      const counts = groups.deviceCounts()
      return c.json(
        inOrder(groups.all(), c.req.valid('query').order).map((row) => toGroupJson(row, counts)),
        200,
      )
    },
  )

  api.openapi(
    route.post('/groups', 'Create a group', {
      description: 'Creates a group with the given group_id, or the next free one. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newGroupSchema) },
      responses: {
        201: json(groupSchema, 'The group; without group_id in the request it got the next free one.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { name, group_id } = c.req.valid('json')
      const row = await groups.create(name, group_id ?? null)
      c.header('location', `/groups/${row.groupId}`)
      return c.json(toGroupJson(row), 201)
    },
  )

  api.openapi(
    route.get('/groups/{groupId}', 'Get a group', {
      description: 'For staff and admins.',
      middleware: [staffOnly],
      request: { params: groupIdParams },
      responses: answers(groupSchema, 'The group.', 400, 403, 404),
    }),
    (c) => c.json(toGroupJson(groups.require(c.req.valid('param').groupId)), 200),
  )

  api.openapi(
    route.patch('/groups/{groupId}', 'Rename a group', {
      description: 'For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: groupIdParams, body: body(groupPatchSchema) },
      responses: answers(groupSchema, 'The group as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { groupId } = c.req.valid('param')
      const { name } = c.req.valid('json')
      const known = groups.require(groupId)
      return c.json(toGroupJson(name === undefined ? known : await groups.rename(groupId, name)), 200)
    },
  )

  api.openapi(
    route.delete('/groups/{groupId}', 'Delete a group', {
      description: 'Deletes its configuration and its zones too; rejected while devices are in the group. For admins.',
      middleware: [adminOnly],
      request: { params: groupIdParams },
      responses: answers(deletedGroupSchema, 'The group is deleted, with its zones.', 400, 403, 404, 409),
    }),
    async (c) => {
      const { groupId } = c.req.valid('param')
      groups.require(groupId)
      await groups.delete(groupId)
      return c.json({ success: true as const, deleted: groupId }, 200)
    },
  )

  api.openapi(
    listRoute('/groups/{groupId}/devices', 'List the devices of a group', {
      description: 'Devices in scope, by hardware_id. For staff and admins.',
      middleware: [staffOnly],
      request: { params: groupIdParams, query: idPageQuerySchema },
      responses: answers(deviceListSchema, 'The devices in the group, by hardware_id.', 400, 403, 404),
    }),
    (c) => {
      const { groupId } = c.req.valid('param')
      const { limit, offset, order } = c.req.valid('query')
      groups.require(groupId)
      const seen = groups.devicesOf(groupId).filter(({ row }) => canSee(c.var.user.caller, row.hardwareId))
      const page = inOrder(seen, order)
        .slice(offset, offset + limit)
        .map(toDeviceJson)
      return c.json({ devices: page, pagination: { limit, offset, returned: page.length } }, 200)
    },
  )

  api.openapi(
    route.put('/groups/{groupId}/devices/{id}', 'Put a device into a group', {
      description: 'The device leaves the group it was in, and receives its new configuration. For admins.',
      middleware: [adminOnly],
      request: { params: groupDeviceParams },
      responses: answers(assignmentSchema, 'The device is in this group only.', 400, 403, 404),
    }),
    async (c) => {
      const { groupId, id } = c.req.valid('param')
      groups.require(groupId)
      const device = fleet.require(id)
      const previousGroupId = await devices.assign(device, groupId)
      const { hardwareId } = device.row
      const answer = { group_id: groupId, hardware_id: hardwareId, previous_group_id: previousGroupId }
      return c.json({ success: true as const, ...answer }, 200)
    },
  )

  api.openapi(
    route.delete('/groups/{groupId}/devices/{id}', 'Take a device out of a group', {
      description: 'The device has no group afterwards. For admins.',
      middleware: [adminOnly],
      request: { params: groupDeviceParams },
      responses: answers(assignmentSchema, 'The device has left its group.', 400, 403, 404),
    }),
    async (c) => {
      const { groupId, id } = c.req.valid('param')
      groups.require(groupId)
      const device = fleet.require(id)
      const { hardwareId } = device.row
      if (device.row.groupId !== groupId)
        throw new NotFoundError('device_not_in_group', `device ${hardwareId} is not in group ${groupId}`)
      await devices.assign(device, null)
      const answer = { group_id: null, hardware_id: hardwareId, previous_group_id: groupId }
      return c.json({ success: true as const, ...answer }, 200)
    },
  )

  return api
}
