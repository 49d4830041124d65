import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { canSee } from '#domain/access.ts'
import type { Device } from '#services/fleet.ts'
import { historyFrame } from '#shared/history/text.ts'
import {
  type HistoryQuery,
  historyFormat,
  historyHeaders,
  historyRange,
  historyRoute,
  TELEMETRY_STREAMS,
} from '#shared/http/history-answers.ts'
import { streamHistory } from '#shared/http/history-stream.ts'
import { streamed } from '#shared/http/responses.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { deviceIdParams } from '#shared/wire/schema/params.ts'
import { HISTORY_LIMIT_MAX } from '#shared/wire/telemetry.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { HistoryPageRequest } from '#store/telemetry/history-page.ts'
import { type ApiEnv, createApi } from './api-env.ts'
import { addMissingWarning } from './damaged-range-warning.ts'
import type { DevicesDeps, RecordsDeps } from './deps.ts'

/** GPS and battery history of a device: JSON for programs, the same records as files for people. */
export function createHistoryApi({ devices, store, downloads }: DevicesDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  async function answer(c: Context<ApiEnv>, stream: TelemetryStream, id: string, query: HistoryQuery): Promise<never> {
    const device = devices.requireVisible(c.var.user.caller, id)
    const format = historyFormat(c, stream, query)
    const request = { ...pageRequest(stream, device, query), format }
    addMissingWarning(c, store, [device], request)
    const ask = { owner: c.var.user.caller.userId, signal: c.req.raw.signal }
    if (format === 'gpx') await writeForward(request, ask)
    const { hardwareId, name } = device.row
    const frame = historyFrame(format, stream, name ?? hardwareId)
    const readPage = (page: HistoryPageRequest) =>
      store.readers.run('historyPage', page, { ...ask, isPartOfLongRead: page.previousMs !== null })
    const text = await streamHistory(readPage, request, frame, {
      // limited per user across all sessions: a download holds memory for as long as it lasts
      userId: c.var.user.row.userId,
      slots: downloads,
      mayGoOn: () => {
        const caller = c.var.user.callerNow()
        return caller !== undefined && canSee(caller, hardwareId)
      },
    })
    return streamed(c, text, historyHeaders(format, `${stream}-${hardwareId}`))
  }

  /** Writes the selected records oldest first, whichever order selected them, because a track has one direction. */
  async function writeForward(request: Omit<HistoryPageRequest, 'previousMs'>, ask: JobOptions): Promise<void> {
    const { order, deviceId, limit } = request
    if (order === 'asc') return
    request.order = 'asc'
    if (limit > HISTORY_LIMIT_MAX) return
    request.fromMs = await store.readers.run('startOfNewest', { deviceId, count: limit }, ask)
  }

  for (const stream of TELEMETRY_STREAMS)
    api.openapi(historyRoute('/devices/{id}', deviceIdParams, stream), (c) =>
      answer(c, stream, c.req.valid('param').id, c.req.valid('query')),
    )

  return api
}

function pageRequest(stream: TelemetryStream, { row }: Device, query: HistoryQuery) {
  const { deviceId, hardwareId, shortId } = row
  return { stream, deviceId, hardwareId, shortId, order: query.order, ...historyRange(query) }
}
