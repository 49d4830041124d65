import type { OpenAPIHono } from '@hono/zod-openapi'
import { readDeviceFile } from '#services/devices/file.ts'
import { inTurns } from '#shared/budgets/in-turns.ts'
import { bytesBodyUpTo } from '#shared/http/request-guards.ts'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  deviceFileSchema,
  deviceImportQuerySchema,
  deviceImportSchema,
  IMPORT_BYTES_MAX,
} from '#shared/wire/device-import.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { DevicesDeps } from './deps.ts'

/** Registers the devices of a spreadsheet list. */
export function createDeviceImportApi({ deviceImport }: DevicesDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  api.openapi(
    route.post('/devices/import', 'Register or change the devices of a CSV file', {
      description:
        'Takes all lines or none; `errors` of the problem lists the invalid lines. An empty field leaves ' +
        'the present value, and an existing device keeps its password. Repeating the request changes nothing. For ' +
        'admins.',
      middleware: [adminOnly, bytesBodyUpTo(IMPORT_BYTES_MAX, ['text/csv'])],
      request: {
        query: deviceImportQuerySchema,
        body: { required: true, content: { 'text/csv': { schema: deviceFileSchema } } },
      },
      responses: answers(
        deviceImportSchema,
        'Number of devices created, updated and unchanged, and the passwords of new ones, shown only here.',
        400,
        403,
        413,
        415,
      ),
    }),
    async (c) => {
      const { lines, errors } = await inTurns(readDeviceFile(new Uint8Array(await c.req.arrayBuffer())))
      const isDryRun = c.req.valid('query').dry_run === 'true'
      const { credentials, ...counts } = await deviceImport.run(lines, errors, isDryRun)
      const shown = credentials.map(({ hardwareId, password }) => ({
        hardware_id: hardwareId,
        username: hardwareId,
        password,
      }))
      return c.json({ ...counts, credentials: shown }, 200)
    },
  )
  return api
}
