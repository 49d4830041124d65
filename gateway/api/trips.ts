import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { type Caller, canSee, isStaff } from '#domain/access.ts'
import type { Device } from '#services/fleet.ts'
import type { TripSearch } from '#services/trips.ts'
import { inOrder, invalidQuery } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  activeTripQuery,
  GEO_JSON,
  requireFewDevices,
  requireTripRange,
  streamMap,
  streamTripList,
  streamTripTable,
  summaryRange,
  toActiveTripsJson,
  toDeviceActiveTripJson,
  tripAnswer,
  tripFormat,
} from '#shared/http/trip-answers.ts'
import { tripConfigOf } from '#shared/trips/config.ts'
import { sumsOf, toTripSummaryJson } from '#shared/trips/json.ts'
import {
  ACTIVE_DEVICES_MAX,
  activeTripsQuerySchema,
  activeTripsSchema,
  deviceActiveTripQuerySchema,
  deviceActiveTripSchema,
  deviceTripsQuerySchema,
  deviceTripsSchema,
  TRIP_DEVICES_MAX,
  tripDeviceParams,
  tripSummaryQuerySchema,
  tripSummarySchema,
  tripsQuerySchema,
  tripsSchema,
} from '#shared/wire/trips.ts'
import { type ApiEnv, createApi, readerOwnerOf } from './api-env.ts'
import { addMissingWarning } from './damaged-range-warning.ts'
import type { CourseDeps, DevicesDeps, MachineDeps, RecordsDeps } from './deps.ts'

/** `/trips`: trips and stops of devices, and the active trips. */
export function createTripsApi({
  fleet,
  devices,
  trips,
  store,
  clock,
  site,
}: DevicesDeps & CourseDeps & RecordsDeps & MachineDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  /** Returns the listed devices that the caller may see, by hardware id; without a list all, for staff and admins. */
  function queriedDevices(caller: Caller, hardwareIds: readonly string[] | undefined): readonly Device[] {
    if (hardwareIds !== undefined) {
      const wanted = new Set(hardwareIds)
      return fleet.all().filter(({ row }) => wanted.has(row.hardwareId) && canSee(caller, row.hardwareId))
    }
    if (isStaff(caller)) return fleet.all().filter(({ row }) => canSee(caller, row.hardwareId))
    throw invalidQuery({
      name: 'hardware_ids',
      code: 'missing_parameter',
      detail: 'is required unless the role is staff or admin',
    })
  }

  async function answer(
    c: Context<ApiEnv>,
    found: readonly Device[],
    search: TripSearch,
    format: ReturnType<typeof tripFormat>,
    file: string,
    more: { devicesQueried?: number } = {},
  ): Promise<never> {
    const missing = addMissingWarning(c, store, found, { stream: 'gps', ...search.range })
    if (format === 'geojson') return streamMap(c, await trips.features(found, search), file)
    const lists = await trips.find(found, search)
    if (format === 'csv') return streamTripTable(c, lists, search.order, file)
    return streamTripList(c, lists, search, { ...more, ...missing })
  }

  // registered before the routes with an id, because the word is never an id
  api.openapi(
    listRoute('/trips/active', 'List devices that are on a trip now', {
      operationId: 'listActiveTrips',
      description:
        'Devices in scope that move, or have stopped for less than minimalParkingDuration within a trip. The ' +
        'minimal length of a listed trip does not apply here. hardware_ids names up to 500 devices.',
      request: { query: activeTripsQuerySchema },
      responses: answers(activeTripsSchema, 'Devices in motion, by hardware_id.', 400),
    }),
    async (c) => {
      const { hardware_ids, order, ...query } = c.req.valid('query')
      requireFewDevices(hardware_ids ?? [], ACTIVE_DEVICES_MAX)
      const found = queriedDevices(c.var.user.caller, hardware_ids)
      const search = activeTripQuery(query, site.tripDefaults)
      const activeTrips = await trips.active(found, { ...search, asker: readerOwnerOf(c) })
      return c.json(toActiveTripsJson([...inOrder(activeTrips, order)], found.length, search), 200)
    },
  )

  api.openapi(
    route.get('/trips', 'List trips and stops of devices', {
      operationId: 'listTrips',
      description:
        `The gateway finds them in the GPS history; hardware_ids names up to ${TRIP_DEVICES_MAX} devices, and ` +
        `those outside the scope are left out. With Accept: ${GEO_JSON} the response is a map.`,
      request: { query: tripsQuerySchema },
      responses: { 200: tripAnswer(tripsSchema), ...problems(400) },
    }),
    (c) => {
      const { hardware_ids, from, to, ...query } = c.req.valid('query')
      const range = requireTripRange(from, to)
      requireFewDevices(hardware_ids ?? [])
      const found = queriedDevices(c.var.user.caller, hardware_ids)
      const search = {
        range,
        config: tripConfigOf(query, site.tripDefaults),
        order: query.order,
        asker: readerOwnerOf(c),
      }
      return answer(c, found, search, tripFormat(c, query), 'trips', { devicesQueried: found.length })
    },
  )

  api.openapi(
    route.get('/trips/{hardwareId}', 'List trips and stops of a device', {
      operationId: 'getDeviceTrips',
      description: `The gateway finds them in the GPS history. With Accept: ${GEO_JSON} the response is a map.`,
      request: { params: tripDeviceParams, query: deviceTripsQuerySchema },
      responses: { 200: tripAnswer(deviceTripsSchema), ...problems(400, 403, 404) },
    }),
    (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').hardwareId)
      const { from, to, ...query } = c.req.valid('query')
      const range = requireTripRange(from, to)
      const search = {
        range,
        config: tripConfigOf(query, site.tripDefaults),
        order: query.order,
        asker: readerOwnerOf(c),
      }
      return answer(c, [device], search, tripFormat(c, query), `trips-${device.row.hardwareId}`)
    },
  )

  api.openapi(
    route.get('/trips/{hardwareId}/active', 'Get the active trip of a device', {
      operationId: 'getDeviceActiveTrip',
      request: { params: tripDeviceParams, query: deviceActiveTripQuerySchema },
      responses: answers(deviceActiveTripSchema, 'The trip so far, if there is one.', 400, 403, 404),
    }),
    async (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').hardwareId)
      const search = activeTripQuery(c.req.valid('query'), site.tripDefaults)
      const [activeTrip] = await trips.active([device], { ...search, asker: readerOwnerOf(c) })
      return c.json(toDeviceActiveTripJson(device.row.hardwareId, activeTrip, search), 200)
    },
  )

  api.openapi(
    route.get('/trips/{hardwareId}/summary', 'Sum up the trips of a device', {
      operationId: 'getTripSummary',
      description: 'The range is date, or from and to, by default the last 24 hours.',
      request: { params: tripDeviceParams, query: tripSummaryQuerySchema },
      responses: answers(tripSummarySchema, 'The totals of the trips.', 400, 403, 404),
    }),
    async (c) => {
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').hardwareId)
      const query = c.req.valid('query')
      const range = summaryRange(query, site.timeZone, clock.nowMs())
      const search = {
        range,
        config: tripConfigOf(query, site.tripDefaults),
        order: 'asc' as const,
        asker: readerOwnerOf(c),
      }
      const [found] = await trips.find([device], search)
      const sums = found?.sums ?? sumsOf({ trips: [], stops: [], positionsAnalyzed: 0 })
      const missing = addMissingWarning(c, store, [device], { stream: 'gps', ...range })
      return c.json({ ...toTripSummaryJson(device.row.hardwareId, range, sums), ...missing }, 200)
    },
  )

  return api
}
