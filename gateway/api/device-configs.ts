import type { OpenAPIHono } from '@hono/zod-openapi'
import type { LayerOutcome } from '#services/configuration/device-configs.ts'
import type { Device } from '#services/fleet.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  deviceConfigPutSchema,
  deviceConfigQuerySchema,
  deviceConfigSchema,
  groupConfigParams,
  groupConfigPutSchema,
  groupConfigSchema,
  groupConfigsSchema,
  newLayerSchema,
} from '#shared/wire/device-configs.ts'
import { groupIdParams } from '#shared/wire/groups.ts'
import { deviceIdParams } from '#shared/wire/schema/params.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { DevicesDeps } from './deps.ts'
import { toDeviceConfigJson } from './json/device-config-json.ts'

/** Configuration routes: the layer of a group and a type, and the layer of a device. All for admins. */
export function createDeviceConfigsApi({
  deviceConfigs,
  deviceTypes,
  groups,
  fleet,
}: DevicesDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    route.get('/groups/{groupId}/config', 'Get the configuration of a group', {
      description: 'The layer for each device type. For admins.',
      middleware: [adminOnly],
      request: { params: groupIdParams },
      responses: answers(groupConfigsSchema, "The group's layer for every device type.", 400, 403, 404),
    }),
    (c) => {
      const { groupId } = c.req.valid('param')
      groups.require(groupId)
      const layers = deviceTypes.all().map(({ name }) => [name, deviceConfigs.groupLayer(groupId, name)])
      return c.json({ group_id: groupId, config: Object.fromEntries(layers) }, 200)
    },
  )

  api.openapi(
    route.get('/groups/{groupId}/config/{type}', 'Get a layer of a group', {
      description: 'For one device type. For admins.',
      middleware: [adminOnly],
      request: { params: groupConfigParams },
      responses: answers(groupConfigSchema, 'The layer; an empty one if none was set.', 400, 403, 404),
    }),
    (c) => {
      const { groupId, type } = c.req.valid('param')
      groups.require(groupId)
      deviceTypes.requireKnown(type, 'path')
      const config = deviceConfigs.groupLayer(groupId, type)
      const devices = groups.devicesOf(groupId).filter(({ row }) => row.deviceType === type).length
      const warnings = deviceConfigs.unknownKeys(type, config).map(toWarning)
      return c.json({ group_id: groupId, device_type: type, config, devices, warnings }, 200)
    },
  )

  api.openapi(
    route.put('/groups/{groupId}/config/{type}', 'Set a layer of a group', {
      description:
        'Replaces the layer, and publishes the configuration to each device for which it changes. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: groupConfigParams, body: body(newLayerSchema) },
      responses: {
        200: json(groupConfigPutSchema, 'The layer as it is now; changed configurations are published.'),
        ...problems(400, 403, 404, 413, 415),
      },
    }),
    async (c) => {
      const { groupId, type } = c.req.valid('param')
      const outcome = await deviceConfigs.setGroupLayer(groupId, type, c.req.valid('json'))
      return c.json(toGroupConfigJson(groupId, type, outcome), 200)
    },
  )

  api.openapi(
    route.delete('/groups/{groupId}/config/{type}', 'Clear a layer of a group', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { params: groupConfigParams },
      responses: {
        200: json(groupConfigPutSchema, 'The layer is empty; changed configurations are published.'),
        ...problems(400, 403, 404),
      },
    }),
    async (c) => {
      const { groupId, type } = c.req.valid('param')
      const outcome = await deviceConfigs.setGroupLayer(groupId, type, {})
      return c.json(toGroupConfigJson(groupId, type, outcome), 200)
    },
  )

  api.openapi(
    route.get('/devices/{id}/config', 'Get the configuration of a device', {
      description:
        'The configuration, the layers it is merged from, and the version the device has applied. For admins.',
      middleware: [adminOnly],
      request: { params: deviceIdParams, query: deviceConfigQuerySchema },
      responses: {
        200: json(deviceConfigSchema, 'The configuration and the layers it is merged from.'),
        ...problems(400, 403, 404),
      },
    }),
    (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const config = toDeviceConfigJson(deviceConfigs, device)
      if (c.req.valid('query').schema === 'false') return c.json(config, 200)
      const type = deviceTypes.find(device.row.deviceType)
      return c.json({ ...config, ...(type === undefined ? {} : { schema: type.configSchema }) }, 200)
    },
  )

  api.openapi(
    route.put('/devices/{id}/config', 'Set the layer of a device', {
      description: 'Replaces the most specific layer, and publishes the configuration if it changes. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: deviceIdParams, body: body(newLayerSchema) },
      responses: {
        200: json(deviceConfigPutSchema, "The configuration with the device's own layer replaced."),
        ...problems(400, 403, 404, 413, 415),
      },
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      return c.json(await setDeviceLayer(device, c.req.valid('json')), 200)
    },
  )

  api.openapi(
    route.delete('/devices/{id}/config', 'Clear the layer of a device', {
      description: 'For admins.',
      middleware: [adminOnly],
      request: { params: deviceIdParams },
      responses: {
        200: json(deviceConfigPutSchema, 'The configuration, now without a layer of the device.'),
        ...problems(403, 404),
      },
    }),
    async (c) => c.json(await setDeviceLayer(fleet.require(c.req.valid('param').id), {}), 200),
  )

  async function setDeviceLayer(device: Device, layer: Record<string, unknown>) {
    const { published, unknownKeys } = await deviceConfigs.setDeviceLayer(device, layer)
    const warnings = unknownKeys.map(toWarning)
    return { ...toDeviceConfigJson(deviceConfigs, device), published, warnings }
  }

  return api
}

function toGroupConfigJson(groupId: number, deviceType: string, outcome: LayerOutcome) {
  const { layer, devices, published, unknownKeys } = outcome
  const warnings = unknownKeys.map(toWarning)
  return { group_id: groupId, device_type: deviceType, config: layer, devices, published, warnings }
}

function toWarning(name: string) {
  return { name, code: 'unknown_key' as const, detail: 'the device type has no setting with this key' }
}
