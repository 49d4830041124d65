import type { OpenAPIHono } from '@hono/zod-openapi'
import type { z } from 'zod'
import type { Device } from '#services/fleet.ts'
import { NotFoundError } from '#shared/errors.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { latestRoute, recordHead, TELEMETRY_STREAMS } from '#shared/http/history-answers.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, jsonText, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { toIso } from '#shared/time.ts'
import { deviceIdParams } from '#shared/wire/schema/params.ts'
import {
  type batteryRecordSchema,
  deletedRecordsSchema,
  type gpsRecordSchema,
  purgedDeviceSchema,
  purgedFleetSchema,
  purgeSchema,
  storedMonthsQuerySchema,
  storedMonthsSchema,
  telemetryStatsSchema,
} from '#shared/wire/telemetry.ts'
import { type ApiEnv, adminOnly, createApi, readerOwnerOf } from './api-env.ts'
import type { DevicesDeps, RecordsDeps } from './deps.ts'
import { DeviceTexts } from './json/device-texts.ts'

/** Routes for the newest record of each stream, for counts and for deletions. */
export function createTelemetryApi({
  fleet,
  devices,
  telemetry,
  store,
}: DevicesDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const latestJson = { gps: toLatestGpsJson, battery: toLatestBatteryJson }

  for (const stream of TELEMETRY_STREAMS) {
    const toJson = latestJson[stream]
    const texts = new DeviceTexts((device) => JSON.stringify(toJson(device)))
    const newest = latestRoute('/devices/{id}', deviceIdParams, stream)
    // most frequent request: documented like others, but its schema, which any id fits, took a tenth of the time
    api.openAPIRegistry.registerPath(newest)
    api.get(newest.getRoutingPath(), (c) => {
      const device = devices.requireVisible(c.get('user').caller, c.req.param('id'))
      if (device.reported[stream] === null)
        throw new NotFoundError('no_telemetry', `the device has no ${stream} telemetry`)
      return jsonText(c, texts.of(device))
    })
  }

  api.openapi(
    route.get('/devices/{id}/telemetry/stats', 'Count the records of a device', {
      middleware: [adminOnly],
      request: { params: deviceIdParams },
      responses: answers(telemetryStatsSchema, 'Records kept of the device.', 403, 404),
    }),
    (c) => {
      const { row } = fleet.require(c.req.valid('param').id)
      const { gps, battery } = store.read.deviceCounts(row.deviceId)
      return c.json({ hardware_id: row.hardwareId, gps: gps.count, battery: battery.count }, 200)
    },
  )

  api.openapi(
    route.delete('/devices/{id}/telemetry', 'Delete all telemetry of a device', {
      description: 'Deletes GPS and battery records; the latest state of the device stays.',
      middleware: [adminOnly],
      request: { params: deviceIdParams },
      responses: answers(purgedDeviceSchema, 'The number of records deleted.', 403, 404),
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const purged = await telemetry.deleteOf(device, TELEMETRY_STREAMS)
      return c.json({ success: true as const, purged }, 200)
    },
  )

  for (const stream of TELEMETRY_STREAMS) {
    api.openapi(
      route.delete(
        `/devices/{id}/telemetry/${stream}`,
        `Delete the ${stream === 'gps' ? 'GPS' : 'battery'} records of a device`,
        {
          middleware: [adminOnly],
          request: { params: deviceIdParams },
          responses: answers(deletedRecordsSchema, 'The number of records deleted.', 403, 404),
        },
      ),
      async (c) => {
        const device = fleet.require(c.req.valid('param').id)
        const purged = await telemetry.deleteOf(device, [stream])
        return c.json({ success: true as const, deleted: purged[stream] }, 200)
      },
    )
  }

  api.openapi(
    listRoute('/telemetry/months', 'Get how old the telemetry is', {
      description:
        'Bytes of positions and voltages by the month of their recording, oldest first, which is the order of ' +
        'retention. The newest messages, which are not in blocks yet, are left out.',
      middleware: [adminOnly],
      request: { query: storedMonthsQuerySchema },
      responses: answers(storedMonthsSchema, 'Bytes by month.', 400, 403),
    }),
    async (c) => {
      const months = await store.readers.run('storedMonths', {}, readerOwnerOf(c))
      return c.json({ months: [...inOrder(months, c.req.valid('query').order)] }, 200)
    },
  )

  api.openapi(
    route.post('/telemetry/purge', 'Delete old telemetry of all devices', {
      description:
        'Deletes GPS and battery records older than the given number of days. Rejected while the gateway ' +
        'reports a clock fault.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(purgeSchema) },
      responses: {
        200: json(purgedFleetSchema, 'The number of records deleted. A repeated request is harmless.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { cutoffMs, purged } = await telemetry.purge(c.req.valid('json').older_than_days)
      return c.json({ success: true as const, cutoff_date: toIso(cutoffMs), purged }, 200)
    },
  )

  return api
}

function toLatestGpsJson(device: Device): z.infer<typeof gpsRecordSchema> | null {
  const { gps } = device.reported
  if (gps === null) return null
  const { atMs, lat, long, speedKmh } = gps
  return {
    ...recordHead('gps', device.row, atMs),
    lat,
    long,
    ...(speedKmh === null ? {} : { speed: speedKmh }),
  }
}

function toLatestBatteryJson(device: Device): z.infer<typeof batteryRecordSchema> | null {
  const { battery } = device.reported
  if (battery === null) return null
  return { ...recordHead('battery', device.row, battery.atMs), battery_voltage: battery.voltageV }
}
