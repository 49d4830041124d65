import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import type { DeviceTypes } from '#services/configuration/device-types.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  type DeviceTypeJson,
  deviceTypeParams,
  deviceTypePutSchema,
  deviceTypeSchema,
  newDeviceTypeParams,
  putDeviceTypeSchema,
} from '#shared/wire/device-types.ts'
import { idListQuerySchema } from '#shared/wire/schema/params.ts'
import { type ApiEnv, adminOnly, createApi, staffOnly } from './api-env.ts'
import type { DevicesDeps } from './deps.ts'

/** `/device-types`: device types with their settings and commands. */
export function createDeviceTypesApi({ deviceTypes }: DevicesDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    listRoute('/device-types', 'List device types', {
      description: 'By name. For staff and admins.',
      middleware: [staffOnly],
      request: { query: idListQuerySchema },
      responses: answers(z.array(deviceTypeSchema), 'All types, by name.', 400, 403),
    }),
    (c) => c.json(inOrder(deviceTypes.all(), c.req.valid('query').order).map(toDeviceTypeJson), 200),
  )

  api.openapi(
    route.get('/device-types/{type}', 'Get a device type', {
      description: 'For staff and admins.',
      middleware: [staffOnly],
      request: { params: deviceTypeParams },
      responses: answers(deviceTypeSchema, 'The type.', 403, 404),
    }),
    (c) => c.json(toDeviceTypeJson(deviceTypes.require(c.req.valid('param').type)), 200),
  )

  api.openapi(
    route.put('/device-types/{type}', 'Create or replace a device type', {
      description: 'Devices of the type receive their configuration if it changes. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: newDeviceTypeParams, body: body(deviceTypePutSchema) },
      responses: answers(putDeviceTypeSchema, 'The type as it is now.', 400, 403, 413, 415),
    }),
    async (c) => {
      const { type: name } = c.req.valid('param')
      const { description, defaults, config_schema, commands } = c.req.valid('json')
      const type = {
        name,
        description,
        defaults,
        configSchema: config_schema,
        commands: Object.fromEntries(
          Object.entries(commands).map(([command, { ttl_seconds, params_schema }]) => [
            command,
            { ttlS: ttl_seconds, params: params_schema },
          ]),
        ),
      }
      const published = await deviceTypes.put(type)
      return c.json({ ...toDeviceTypeJson(type), published }, 200)
    },
  )

  return api
}

function toDeviceTypeJson({
  name,
  description,
  defaults,
  configSchema,
  commands,
}: Parameters<DeviceTypes['put']>[0]): DeviceTypeJson {
  return {
    name,
    description,
    defaults,
    config_schema: configSchema,
    commands: Object.fromEntries(
      Object.entries(commands).map(([command, { ttlS, params }]) => [
        command,
        { ttl_seconds: ttlS, params_schema: params },
      ]),
    ),
  }
}
