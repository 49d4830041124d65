import type { OpenAPIHono } from '@hono/zod-openapi'
import { jsonBodyUpTo } from '#shared/http/request-guards.ts'
import { body, json, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { deviceIdParams } from '#shared/wire/schema/params.ts'
import { IMPORT_RECORDS_MAX, importedTelemetrySchema, telemetryImportSchema } from '#shared/wire/telemetry-import.ts'
import { type ApiEnv, adminOnly, createApi } from './api-env.ts'
import type { DevicesDeps, RecordsDeps } from './deps.ts'

/** Body with the maximum number of records, each as long as the gateway itself would write it. */
const importBody = jsonBodyUpTo(512 * 1024)

/** Imports the records of files into the history of a device. */
export function createTelemetryImportApi({ fleet, telemetryImport }: DevicesDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  api.openapi(
    route.post('/devices/{id}/telemetry/import', 'Add records to the history of a device', {
      description:
        `Up to ${IMPORT_RECORDS_MAX} records from elsewhere, such as a GPX file. The gateway checks them like ` +
        'samples of the device, counts unusable ones by reason and stores the rest. Repeating the request is ' +
        'harmless. The newest record may change; attributes, zone events and live messages do not.',
      middleware: [adminOnly, importBody],
      request: { params: deviceIdParams, body: body(telemetryImportSchema) },
      responses: {
        200: json(importedTelemetrySchema, 'The numbers of records stored, and of those rejected, by reason.'),
        ...problems(400, 403, 404, 413, 415),
      },
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const { gps, battery } = c.req.valid('json')
      const { stored, duplicates, dropped } = await telemetryImport.add(device, gps, battery)
      const reasons = dropped.map(([reason, count]) => ({ reason, count }))
      reasons.sort((a, b) => b.count - a.count)
      return c.json({ success: true as const, stored, duplicates, dropped: reasons }, 200)
    },
  )
  return api
}
