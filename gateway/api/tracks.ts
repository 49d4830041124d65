import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { TrackedDevice } from '#services/tracks.ts'
import { invalidQuery, requireOrder } from '#shared/http/api-env.ts'
import { answers, jsonText } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { dayRange } from '#shared/http/trip-answers.ts'
import { HOUR_MS, toIso } from '#shared/time.ts'
import { cartParams } from '#shared/wire/carts.ts'
import {
  cartTrackQuerySchema,
  cartTrackSchema,
  REPLAY_RANGE_MAX_MS,
  replayQuerySchema,
  replaySchema,
  TRACK_RANGE_MAX_MS,
} from '#shared/wire/tracks.ts'
import { type ApiEnv, createApi, readerOwnerOf, staffOnly } from './api-env.ts'
import { addMissingWarning } from './damaged-range-warning.ts'
import type { CourseDeps, RecordsDeps } from './deps.ts'

interface Range {
  fromMs: number
  toMs: number
}

/** Track of a cart on a day, and tracks of all carts, in columns, for drawing and replay. */
export function createTracksApi({ visibleCarts, tracks, store, site }: CourseDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  function trackAsker(c: Context<ApiEnv>) {
    return { ...readerOwnerOf(c), userId: c.var.user.row.userId }
  }

  function missingIn(
    c: Context<ApiEnv>,
    tracked: readonly TrackedDevice[],
    range: Range,
    streams: readonly ('gps' | 'battery')[],
  ): { warnings?: string[] } {
    const devices = tracked.map(({ device }) => device)
    const warnings = streams.flatMap(
      (stream) => addMissingWarning(c, store, devices, { stream, ...range }).warnings ?? [],
    )
    return warnings.length === 0 ? {} : { warnings }
  }

  api.openapi(
    route.get('/carts/{cart}/track', 'Get the track of a cart', {
      description:
        'Positions and voltages of a day, or between from and to, of the devices in the cart: in columns, a sixth ' +
        'of the size of the histories.',
      request: { params: cartParams, query: cartTrackQuerySchema },
      responses: answers(cartTrackSchema, 'The tracks of its devices.', 400, 403, 404),
    }),
    async (c) => {
      const cart = visibleCarts.require(c.var.user.caller, c.req.valid('param').cart)
      const { date, from, to } = c.req.valid('query')
      const hasRange = from !== undefined || to !== undefined
      const range =
        date === undefined ? requireRange(from, to, TRACK_RANGE_MAX_MS) : dayRange(date, site.timeZone, hasRange)
      const tracked = cart.devices.map((device) => ({
        device,
        label: { hardware_id: device.row.hardwareId, device_type: device.row.deviceType },
      }))
      const texts = await tracks.whole(tracked, range, trackAsker(c))
      const missing = missingIn(c, tracked, range, ['gps', 'battery'])
      return jsonText(c, withDevices({ cart: cart.key, ...rangeJson(range), ...missing }, texts))
    },
  )

  api.openapi(
    route.get('/replay', 'Replay the course', {
      description:
        'Tracks of all carts in scope, reduced to one position in five seconds while a cart drives and one a ' +
        'minute while it stands. For staff.',
      middleware: [staffOnly],
      request: { query: replayQuerySchema },
      responses: answers(replaySchema, 'The tracks of all devices with positions.', 400, 403),
    }),
    async (c) => {
      const { from, to } = c.req.valid('query')
      const range = requireRange(from, to, REPLAY_RANGE_MAX_MS)
      const tracked = visibleCarts.all(c.var.user.caller).flatMap(({ key, devices }) =>
        devices.map((device) => ({
          device,
          label: {
            hardware_id: device.row.hardwareId,
            device_type: device.row.deviceType,
            cart: key,
          },
        })),
      )
      const { speedThreshold } = site.tripDefaults
      const texts = await tracks.replay(tracked, range, speedThreshold, trackAsker(c))
      const missing = missingIn(c, tracked, range, ['gps'])
      return jsonText(c, withDevices({ ...rangeJson(range), ...missing }, texts))
    },
  )

  return api
}

/** Throws `missing_parameter`, `invalid_range` and `range_too_large`. */
function requireRange(fromMs: number | undefined, toMs: number | undefined, mostMs: number): Range {
  if (fromMs === undefined || toMs === undefined) {
    const name = fromMs === undefined ? 'from' : 'to'
    throw invalidQuery({ name, code: 'missing_parameter', detail: 'send from and to, or date' })
  }
  requireOrder(fromMs, toMs)
  if (toMs - fromMs > mostMs) {
    const detail = `to must be at most ${mostMs / HOUR_MS} hours after from`
    throw invalidQuery({ name: 'to', code: 'range_too_large', detail })
  }
  return { fromMs, toMs }
}

function rangeJson({ fromMs, toMs }: Range) {
  return { from: toIso(fromMs), to: toIso(toMs) }
}

/** Builds an object with an additional field of items that are already text. */
function withDevices(head: object, texts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const comma = Buffer.from(',')
  const items = texts.flatMap((text, i) => (i === 0 ? [text] : [comma, text]))
  const start = JSON.stringify(head).slice(0, -1)
  return Buffer.concat([Buffer.from(`${start},"devices":[`), ...items, Buffer.from(']}')])
}
