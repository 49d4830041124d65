import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Cart } from '#services/cart.ts'
import type { SignalLoss } from '#services/reports.ts'
import { RateLimitedError } from '#shared/errors.ts'
import { fromE7, fromMilli } from '#shared/geo.ts'
import { summaryCsv, summaryFile } from '#shared/history/summary-csv.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { attachment } from '#shared/http/attachment.ts'
import { CSV_TYPE } from '#shared/http/csv.ts'
import { listRoute, wantsCsv, withTable } from '#shared/http/list-route.ts'
import { answers, described } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { requireTripRange } from '#shared/http/trip-answers.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import { cellCentre, cellWidthM, type TrafficGrid } from '#shared/reports/traffic-grid.ts'
import { HOUR_MS, toIso } from '#shared/time.ts'
import {
  type BatteryRowJson,
  batteryReportSchema,
  daySummaryQuerySchema,
  daySummarySchema,
  mapReportQuerySchema,
  monthReportQuerySchema,
  monthSummaryQuerySchema,
  monthSummarySchema,
  type SilencesJson,
  silencesSchema,
  type TrafficJson,
  trafficSchema,
  type UtilisationRowJson,
  utilisationSchema,
} from '#shared/wire/reports.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import { type ApiEnv, createApi, readerOwnerOf, staffOnly } from '../api-env.ts'
import { addMissingWarning } from '../damaged-range-warning.ts'
import type { AlertsDeps, CourseDeps, RecordsDeps } from '../deps.ts'

interface Range {
  fromMs: number
  toMs: number
}

/** Maximum number of signal losses in a response. */
const SILENCES_MAX = 2000
/** Units per degree, the precision in which positions are stored. */
const E7 = 1e7

function toTrafficJson({ fromMs, toMs }: Range, grid: TrafficGrid): TrafficJson {
  const { zoom, x, y, seconds } = grid.cells()
  const cells = Array.from(seconds, (inCell, i) => {
    const { lat, long } = cellCentre(zoom, x[i] ?? 0, y[i] ?? 0)
    return {
      lat: Math.round(lat * E7) / E7,
      long: Math.round(long * E7) / E7,
      seconds: Math.round(inCell),
    }
  })
  return {
    from: toIso(fromMs),
    to: toIso(toMs),
    // the width of the middle cell serves for all, because a course is small
    cell_m: Math.round(cellWidthM(zoom, cells[cells.length >> 1]?.lat ?? 0) * 100) / 100,
    seconds: cells.reduce((sum, cell) => sum + cell.seconds, 0),
    cells,
  }
}

function toSilencesJson({ fromMs, toMs }: Range, silentAfterS: number, silences: readonly SignalLoss[]): SilencesJson {
  return {
    from: toIso(fromMs),
    to: toIso(toMs),
    silent_after_s: silentAfterS,
    total: silences.length,
    silences: silences.slice(0, SILENCES_MAX).map((silence) => ({
      cart: silence.cart,
      at: toIso(silence.fromMs),
      until: silence.isOpen ? null : toIso(silence.untilMs),
      duration: Math.round((silence.untilMs - silence.fromMs) / 1000),
      lat: fromE7(silence.latE7),
      long: fromE7(silence.longE7),
    })),
  }
}

const RETRY_S = 10

/** `/reports`: usage of carts by month or on a map. For staff. */
export function createReportsApi(deps: AlertsDeps & CourseDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const { alerts, reports, summaries, visibleCarts, downloads, store, site } = deps
  const api = createApi()

  /** Reads a report; it occupies a reader thread for as long as a long download. */
  async function report<Found>(
    c: Context<ApiEnv>,
    work: (carts: readonly Cart[], asker: JobOptions) => Promise<Found>,
  ): Promise<{ found: Found; carts: readonly Cart[] }> {
    const { userId } = c.var.user.row
    if (!downloads.take(userId)) {
      const message = 'too many downloads and reports of this user are in progress; wait for one to end'
      throw new RateLimitedError(message, RETRY_S, 'too_many_downloads')
    }
    try {
      const carts = visibleCarts.all(c.var.user.caller)
      return { found: await work(carts, readerOwnerOf(c)), carts }
    } finally {
      downloads.release(userId)
    }
  }

  function missing(
    c: Context<ApiEnv>,
    carts: readonly Cart[],
    stream: TelemetryStream,
    range: { fromMs: number; toMs: number },
  ) {
    const devices = carts.flatMap((cart) => cart.devices)
    return addMissingWarning(c, store, devices, { stream, ...range })
  }

  api.openapi(
    listRoute('/reports/utilisation', 'Report how carts were used', {
      operationId: 'reportUtilisation',
      description:
        'Time out, distance and number of begun rounds for each cart in scope and each local day of the month. ' +
        'The device that determines the position of a cart counts.',
      middleware: [staffOnly],
      request: { query: monthReportQuerySchema },
      responses: answers(utilisationSchema, 'Rows by cart and date.', 400, 403),
    }),
    async (c) => {
      const { month, order } = c.req.valid('query')
      const { found, carts } = await report(c, (of, asker) => reports.utilisation(of, month, asker))
      const rows = inOrder(found, order).map(
        ({ cart, date, outMs, distanceM, rounds }): UtilisationRowJson => ({
          cart,
          date,
          hours_out: rounded(outMs / HOUR_MS, 1000),
          distance: rounded(distanceM, 10),
          rounds,
        }),
      )
      const warnings = missing(c, carts, 'gps', reports.rangeOf(month))
      c.set('file', `utilisation-${month}`)
      return c.json({ month, time_zone: site.settings.timeZone, rows, ...warnings }, 200)
    },
  )

  api.openapi(
    listRoute('/reports/battery', 'Report how packs are', {
      operationId: 'reportBattery',
      description:
        'Voltage at the start of the day and lowest voltage under load, for each cart in scope and each local day ' +
        'of the month.',
      middleware: [staffOnly],
      request: { query: monthReportQuerySchema },
      responses: answers(batteryReportSchema, 'Rows by cart and date.', 400, 403),
    }),
    async (c) => {
      const { month, order } = c.req.valid('query')
      const { found, carts } = await report(c, (of, asker) => reports.packs(of, month, asker))
      const rows = inOrder(found, order).map(
        ({ cart, date, restMorningMv, lowestMv }): BatteryRowJson => ({
          cart,
          date,
          rest_voltage_morning: restMorningMv === null ? null : fromMilli(restMorningMv),
          lowest_voltage: lowestMv === null ? null : fromMilli(lowestMv),
        }),
      )
      const warnings = missing(c, carts, 'battery', reports.rangeOf(month))
      c.set('file', `battery-${month}`)
      return c.json({ month, time_zone: site.settings.timeZone, rows, ...warnings }, 200)
    },
  )

  api.openapi(
    route.get('/reports/traffic', 'Map where carts were', {
      operationId: 'reportTraffic',
      description:
        'Seconds that carts in scope spent in each cell of a grid outside their parking zones; range up to ' +
        '31 days.',
      middleware: [staffOnly],
      request: { query: mapReportQuerySchema },
      responses: answers(trafficSchema, 'Cells with traffic.', 400, 403),
    }),
    async (c) => {
      const { from, to } = c.req.valid('query')
      const range = requireTripRange(from, to)
      const { found, carts } = await report(c, (of, asker) => reports.traffic(of, range, asker))
      return c.json({ ...toTrafficJson(range, found), ...missing(c, carts, 'gps', range) }, 200)
    },
  )

  api.openapi(
    route.get('/reports/silence', 'Map where carts fell silent', {
      operationId: 'reportSilence',
      description:
        'Places outside their parking zones at which carts in scope lost their signal for longer than ' +
        'silent_on_course_after_s of the site; range up to 31 days.',
      middleware: [staffOnly],
      request: { query: mapReportQuerySchema },
      responses: answers(silencesSchema, 'The longest signal losses.', 400, 403),
    }),
    async (c) => {
      const { from, to } = c.req.valid('query')
      const range = requireTripRange(from, to)
      const { found, carts } = await report(c, (of, asker) => reports.silences(of, range, asker))
      const { silentOnCourseAfterS } = site.settings
      return c.json({ ...toSilencesJson(range, silentOnCourseAfterS, found), ...missing(c, carts, 'gps', range) }, 200)
    },
  )

  /** Returns the summary of a day or month, as JSON or as the table of its file. */
  async function summary<Named extends { date: string } | { month: string }>(c: Context<ApiEnv>, named: Named) {
    const [period = ''] = Object.values(named)
    const { found } = await report(c, (carts, asker) =>
      summaries.of(period, { carts, ...alerts.scopeOf(c.var.user.caller) }, asker),
    )
    if (!wantsCsv(c)) return c.json({ ...named, ...found }, 200)
    const headers = { 'content-type': CSV_TYPE, 'content-disposition': attachment(`${summaryFile(period)}.csv`) }
    return described(c.body(summaryCsv({ ...named, ...found }), 200, headers))
  }

  api.openapi(
    route.get('/reports/day', 'Summarise a day', {
      operationId: 'reportDay',
      description: 'What golf carts in scope did on a local day, and what happened; without names of people.',
      middleware: [staffOnly],
      request: { query: daySummaryQuerySchema },
      responses: withTable(answers(daySummarySchema, 'The day.', 400, 403)),
    }),
    (c) => summary(c, { date: c.req.valid('query').date }),
  )

  api.openapi(
    route.get('/reports/month', 'Summarise a month', {
      operationId: 'reportMonth',
      description: 'As `GET /reports/day`, for the days of a month together.',
      middleware: [staffOnly],
      request: { query: monthSummaryQuerySchema },
      responses: withTable(answers(monthSummarySchema, 'The month.', 400, 403)),
    }),
    (c) => summary(c, { month: c.req.valid('query').month }),
  )

  return api
}

/** Rounds a value to the given number of parts per unit. */
function rounded(value: number, parts: number): number {
  return Math.round(value * parts) / parts
}
