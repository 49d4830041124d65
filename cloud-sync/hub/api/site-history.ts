import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { requireTrackedDevice, type TrackedDevice, visibleSites } from '#hub/access.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { pendingTelemetry, readTelemetry, type TelemetryRange } from '#hub/store/telemetry/reader.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import { NotFoundError } from '#shared/errors.ts'
import { fromE7, fromMilli } from '#shared/geo.ts'
import { type HistoryPage, type HistoryRequest, historyPageOf } from '#shared/history/page.ts'
import { historyFrame } from '#shared/history/text.ts'
import {
  type HistoryQuery,
  historyFormat,
  historyHeaders,
  historyRange,
  historyRoute,
  latestRoute,
  recordHead,
  TELEMETRY_STREAMS,
} from '#shared/http/history-answers.ts'
import { streamHistory } from '#shared/http/history-stream.ts'
import { streamed } from '#shared/http/responses.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { siteDeviceParams } from '#shared/wire/sites.ts'
import { HISTORY_LIMIT_MAX } from '#shared/wire/telemetry.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** Records per page: each page is a query, so pages are larger than at a gateway. */
const PAGE_ROWS = 4000
const DEVICE_PATH = '/sites/{site}/devices/{id}'
const NEWEST = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, order: 'desc', limit: 1 } as const

/** GPS and battery history of the devices of sites, in the formats of their gateways. */
export function createSiteHistoryApi(sql: Sql, downloads: Slots): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  async function answer(
    c: Context<HubEnv>,
    stream: TelemetryStream,
    device: TrackedDevice,
    query: HistoryQuery,
  ): Promise<never> {
    const { hardwareId, shortId, name } = device
    const format = historyFormat(c, stream, query)
    const request = { hardwareId, shortId, order: query.order, format, ...historyRange(query) }
    if (format === 'gpx') await writeForward(request, device)
    const frame = historyFrame(format, stream, name ?? hardwareId)
    const readPage = await pagesOf(stream, device, request)
    const text = await streamHistory(readPage, request, frame, {
      userId: c.var.user.userId,
      slots: downloads,
      mayGoOn: async () => {
        const user = await c.var.reloadUser()
        return user !== undefined && visibleSites(user)?.includes(device.siteId) !== false
      },
      pageRows: PAGE_ROWS,
    })
    return streamed(c, text, historyHeaders(format, `${stream}-${hardwareId}`))
  }

  /** A track has one direction: the selected records, newest first or not, are written oldest first. */
  async function writeForward(request: Omit<HistoryRequest, 'previousMs'>, device: TrackedDevice): Promise<void> {
    if (request.order === 'asc') return
    request.order = 'asc'
    if (request.limit > HISTORY_LIMIT_MAX) return
    const { atMs } = await readTelemetry(sql, GPS, device, { ...NEWEST, limit: request.limit })
    request.fromMs = atMs[0] ?? 0
  }

  async function pagesOf(
    stream: TelemetryStream,
    device: TrackedDevice,
    all: Pick<HistoryRequest, 'fromMs' | 'toMs'>,
  ): Promise<(page: HistoryRequest) => Promise<HistoryPage>> {
    if (stream === 'gps') {
      const pending = await pendingTelemetry(sql, GPS, device, all)
      return async (page) => historyPageOf(page, { gps: await readTelemetry(sql, GPS, device, rangeOf(page), pending) })
    }
    const pending = await pendingTelemetry(sql, BATTERY, device, all)
    return async (page) =>
      historyPageOf(page, { battery: await readTelemetry(sql, BATTERY, device, rangeOf(page), pending) })
  }

  for (const stream of TELEMETRY_STREAMS)
    api.openapi(historyRoute(DEVICE_PATH, siteDeviceParams, stream), async (c) => {
      const { site, id } = c.req.valid('param')
      const device = await requireTrackedDevice(sql, c.var.user, site, id)
      return answer(c, stream, device, c.req.valid('query'))
    })

  api.openapi(latestRoute(DEVICE_PATH, siteDeviceParams, 'gps'), async (c) => {
    const { site, id } = c.req.valid('param')
    const device = await requireTrackedDevice(sql, c.var.user, site, id)
    const { atMs, latE7, longE7, speedMilliKmh } = await readTelemetry(sql, GPS, device, NEWEST)
    const speed = speedMilliKmh[0] ?? NO_SPEED
    const place = { lat: fromE7(latE7[0] ?? 0), long: fromE7(longE7[0] ?? 0) }
    const record = { ...headOf('gps', device, atMs[0]), ...place }
    return c.json(speed === NO_SPEED ? record : { ...record, speed: fromMilli(speed) }, 200)
  })

  api.openapi(latestRoute(DEVICE_PATH, siteDeviceParams, 'battery'), async (c) => {
    const { site, id } = c.req.valid('param')
    const device = await requireTrackedDevice(sql, c.var.user, site, id)
    const { atMs, voltageMv } = await readTelemetry(sql, BATTERY, device, NEWEST)
    const head = headOf('battery', device, atMs[0])
    return c.json({ ...head, battery_voltage: fromMilli(voltageMv[0] ?? 0) }, 200)
  })

  return api
}

function rangeOf({ fromMs, toMs, order, limit }: HistoryRequest): TelemetryRange {
  return { fromMs, toMs, order, limit }
}

/** Throws `no_telemetry` if there is no record. */
function headOf(stream: TelemetryStream, device: TrackedDevice, atMs: number | undefined) {
  if (atMs === undefined) throw new NotFoundError('no_telemetry', `the device has no ${stream} telemetry`)
  return recordHead(stream, device, atMs)
}
