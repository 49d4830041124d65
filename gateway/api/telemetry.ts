import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { NotFoundError } from '../../shared/errors.ts'
import { recordId, recordIdPrefix, type TelemetryStream } from '../../shared/ids.ts'
import { toIso } from '../../shared/time.ts'
import { deviceIdParams } from '../../shared/wire/params.ts'
import {
  batteryRecordSchema,
  deletedRecordsSchema,
  gpsRecordSchema,
  purgedDeviceSchema,
  purgedFleetSchema,
  purgeSchema,
  telemetryStatsSchema,
} from '../../shared/wire/telemetry.ts'
import type { Devices } from '../services/devices.ts'
import type { Device, Fleet } from '../services/fleet.ts'
import type { QueuedMessage } from '../services/ingest.ts'
import type { Telemetry } from '../services/telemetry.ts'
import type { Store } from '../store/store.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import { adminOnly, jsonBody } from './guards.ts'
import { body, json, problems } from './responses.ts'

interface TelemetryApiDeps {
  fleet: Fleet
  devices: Devices
  telemetry: Telemetry
  store: Pick<Store<QueuedMessage>, 'read'>
}

/** The newest record of each stream, counts, and what deletes records. */
export function createTelemetryApi({
  fleet,
  devices,
  telemetry,
  store,
}: TelemetryApiDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  api.openapi(
    createRoute({
      method: 'get',
      path: '/devices/{id}/gps/latest',
      request: { params: deviceIdParams },
      responses: { 200: json(gpsRecordSchema, 'The newest GPS record.'), ...problems(403, 404) },
    }),
    (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
      const { gps } = device.reported
      if (gps === null) throw noTelemetry('GPS')
      const { atMs, lat, long, speedKmh } = gps
      return c.json(
        { ...recordHead('gps', device, atMs), lat, long, ...(speedKmh === null ? {} : { speed: speedKmh }) },
        200,
      )
    },
  )

  api.openapi(
    createRoute({
      method: 'get',
      path: '/devices/{id}/battery/latest',
      request: { params: deviceIdParams },
      responses: { 200: json(batteryRecordSchema, 'The newest battery record.'), ...problems(403, 404) },
    }),
    (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
      const { battery } = device.reported
      if (battery === null) throw noTelemetry('battery')
      return c.json(
        { ...recordHead('battery', device, battery.atMs), battery_voltage: battery.voltageV },
        200,
      )
    },
  )

  api.openapi(
    createRoute({
      method: 'get',
      path: '/devices/{id}/telemetry/stats',
      middleware: [adminOnly] as const,
      request: { params: deviceIdParams },
      responses: { 200: json(telemetryStatsSchema, 'Records kept of the device.'), ...problems(403, 404) },
    }),
    (c) => {
      const { row } = fleet.require(c.req.valid('param').id)
      const { gps, battery } = store.read.deviceCounts(row.deviceId)
      return c.json({ hardware_id: row.hardwareId, gps: gps.count, battery: battery.count }, 200)
    },
  )

  api.openapi(
    createRoute({
      method: 'delete',
      path: '/devices/{id}/telemetry',
      middleware: [adminOnly] as const,
      request: { params: deviceIdParams },
      responses: { 200: json(purgedDeviceSchema, 'Deleted, so many.'), ...problems(403, 404) },
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const purged = await telemetry.deleteOf(device, ['gps', 'battery'])
      return c.json({ success: true as const, purged }, 200)
    },
  )

  for (const stream of ['gps', 'battery'] as const) {
    api.openapi(
      createRoute({
        method: 'delete',
        path: `/devices/{id}/telemetry/${stream}`,
        middleware: [adminOnly] as const,
        request: { params: deviceIdParams },
        responses: { 200: json(deletedRecordsSchema, 'Deleted, so many.'), ...problems(403, 404) },
      }),
      async (c) => {
        const device = fleet.require(c.req.valid('param').id)
        const purged = await telemetry.deleteOf(device, [stream])
        return c.json({ success: true as const, deleted: purged[stream] }, 200)
      },
    )
  }

  api.openapi(
    createRoute({
      method: 'post',
      path: '/telemetry/purge',
      middleware: [adminOnly, jsonBody] as const,
      request: { body: body(purgeSchema) },
      responses: {
        200: json(purgedFleetSchema, 'What is older is gone, so many records. Asking again is harmless.'),
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

function recordHead(stream: TelemetryStream, { row }: Device, atMs: number) {
  return {
    _id: recordId(recordIdPrefix(row.hardwareId, stream), atMs),
    device_id: row.shortId,
    hardware_id: row.hardwareId,
    timestamp: toIso(atMs),
  }
}

function noTelemetry(kind: string): NotFoundError {
  return new NotFoundError('no_telemetry', `the device has no ${kind} telemetry`)
}
