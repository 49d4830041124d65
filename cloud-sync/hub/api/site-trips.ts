import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { requireSite, requireTrackedDevice } from '#hub/access.ts'
import { searchDevices } from '#hub/sites/device-search.ts'
import { SiteTrips } from '#hub/sites/trips.ts'
import { siteSettingsOf } from '#hub/store/site-settings.ts'
import { inOrder } from '#shared/http/api-env.ts'
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
import { tripDefaultsOf } from '#shared/site/settings.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { type TripConfig, tripConfigOf } from '#shared/trips/config.ts'
import { sumsOf, toTripSummaryJson } from '#shared/trips/json.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import { siteParams } from '#shared/wire/sites.ts'
import {
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
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'

interface TripDevice {
  siteId: string
  hardwareId: string
}

interface TripListQuery {
  range: { fromMs: number; toMs: number }
  config: TripConfig
  order: ListOrder
}

const siteTripParams = siteParams.extend(tripDeviceParams.shape)

/** `/sites/:site/trips`: trips and stops of devices, found by the same rules as at their gateway. */
export function createSiteTripsApi({ database: sql, clock }: PeopleApiDeps): OpenAPIHono<HubEnv> {
  const trips = new SiteTrips(sql)
  const api = createHubPart()

  const defaultsOf = async (siteId: string) => tripDefaultsOf(await siteSettingsOf(sql, siteId))

  /** Returns the devices of a list that the site has, all of them if none are named; sorted by hardware id. */
  async function queriedDevices(siteId: string, hardwareIds: readonly string[] | undefined): Promise<TripDevice[]> {
    requireFewDevices(hardwareIds ?? [])
    const found = await searchDevices(sql, {
      siteIds: [siteId],
      hardwareIds,
      fields: {},
      batteryBelow: undefined,
      search: '',
      attributes: [],
      order: 'asc',
      limit: TRIP_DEVICES_MAX + 1,
      offset: 0,
    })
    requireFewDevices(found)
    return found.map(({ hardware_id }) => ({ siteId, hardwareId: hardware_id }))
  }

  async function answer(
    c: Context<HubEnv>,
    devices: readonly TripDevice[],
    { range, config, order }: TripListQuery,
    format: ReturnType<typeof tripFormat>,
    file: string,
    more: { devicesQueried?: number } = {},
  ): Promise<never> {
    const search = { range, config, order, signal: c.req.raw.signal }
    if (format === 'geojson') return streamMap(c, await trips.features(devices, search), file)
    const lists = await trips.find(devices, search)
    if (format === 'csv') return streamTripTable(c, lists, order, file)
    return streamTripList(c, lists, search, more)
  }

  // before the routes with an id: this word is never an id
  api.openapi(
    listRoute('/sites/{site}/trips/active', 'List the devices of a site that are on a trip now', {
      operationId: 'listSiteActiveTrips',
      description:
        `For all devices of the site, or for up to ${TRIP_DEVICES_MAX} that the request names; it must name them ` +
        'if the site has more.',
      request: { params: siteParams, query: activeTripsQuerySchema },
      responses: answers(activeTripsSchema, 'Devices in motion, by hardware_id.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { hardware_ids, order, ...query } = c.req.valid('query')
      await requireSite(sql, c.var.user, site)
      const devices = await queriedDevices(site, hardware_ids)
      const search = activeTripQuery(query, await defaultsOf(site))
      const activeTrips = await trips.active(devices, { ...search, nowMs: clock.nowMs() }, c.req.raw.signal)
      return c.json(toActiveTripsJson([...inOrder(activeTrips, order)], devices.length, search), 200)
    },
  )

  api.openapi(
    route.get('/sites/{site}/trips', 'List trips and stops of the devices of a site', {
      operationId: 'listSiteTrips',
      description:
        `Detected on demand in GPS history, for up to ${TRIP_DEVICES_MAX} devices; the request must name them if ` +
        `the site has more. With Accept: ${GEO_JSON} the answer is a map.`,
      request: { params: siteParams, query: tripsQuerySchema },
      responses: { 200: tripAnswer(tripsSchema), ...problems(400, 403, 404) },
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const { hardware_ids, from, to, ...query } = c.req.valid('query')
      const range = requireTripRange(from, to)
      await requireSite(sql, c.var.user, site)
      const devices = await queriedDevices(site, hardware_ids)
      const config = tripConfigOf(query, await defaultsOf(site))
      const search = { range, config, order: query.order }
      return answer(c, devices, search, tripFormat(c, query), `trips-${site}`, {
        devicesQueried: devices.length,
      })
    },
  )

  api.openapi(
    route.get('/sites/{site}/trips/{hardwareId}', 'List trips and stops of a device', {
      operationId: 'getSiteDeviceTrips',
      description: `Detected on demand in GPS history. With Accept: ${GEO_JSON} the answer is a map.`,
      request: { params: siteTripParams, query: deviceTripsQuerySchema },
      responses: { 200: tripAnswer(deviceTripsSchema), ...problems(400, 403, 404) },
    }),
    async (c) => {
      const { site, hardwareId } = c.req.valid('param')
      const { from, to, ...query } = c.req.valid('query')
      const device = await requireTrackedDevice(sql, c.var.user, site, hardwareId)
      const range = requireTripRange(from, to)
      const config = tripConfigOf(query, await defaultsOf(site))
      const search = { range, config, order: query.order }
      return answer(c, [device], search, tripFormat(c, query), `trips-${device.hardwareId}`)
    },
  )

  api.openapi(
    route.get('/sites/{site}/trips/{hardwareId}/active', 'Get the current trip of a device', {
      operationId: 'getSiteDeviceActiveTrip',
      request: { params: siteTripParams, query: deviceActiveTripQuerySchema },
      responses: answers(deviceActiveTripSchema, 'The trip so far, if the device is on one.', 400, 403, 404),
    }),
    async (c) => {
      const { site, hardwareId } = c.req.valid('param')
      const device = await requireTrackedDevice(sql, c.var.user, site, hardwareId)
      const search = activeTripQuery(c.req.valid('query'), await defaultsOf(site))
      const nowMs = clock.nowMs()
      const [activeTrip] = await trips.active([device], { ...search, nowMs }, c.req.raw.signal)
      return c.json(toDeviceActiveTripJson(device.hardwareId, activeTrip, search), 200)
    },
  )

  api.openapi(
    route.get('/sites/{site}/trips/{hardwareId}/summary', 'Sum up the trips of a device', {
      operationId: 'getSiteTripSummary',
      description: 'For the last 24 hours, a day by the clocks of the site, or the time between from and to.',
      request: { params: siteTripParams, query: tripSummaryQuerySchema },
      responses: answers(tripSummarySchema, 'The totals of the trips.', 400, 403, 404),
    }),
    async (c) => {
      const { site, hardwareId } = c.req.valid('param')
      const query = c.req.valid('query')
      const device = await requireTrackedDevice(sql, c.var.user, site, hardwareId)
      const settings = await siteSettingsOf(sql, site)
      const range = summaryRange(query, new TimeZone(settings.timeZone), clock.nowMs())
      const config = tripConfigOf(query, tripDefaultsOf(settings))
      const search = { range, config, order: 'asc' as const, signal: c.req.raw.signal }
      const [found] = await trips.find([device], search)
      const sums = found?.sums ?? sumsOf({ trips: [], stops: [], positionsAnalyzed: 0 })
      return c.json(toTripSummaryJson(device.hardwareId, range, sums), 200)
    },
  )

  return api
}
