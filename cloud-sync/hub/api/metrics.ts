import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { siteHealth, timesOf } from '#hub/sites/state.ts'
import { pageOfSites, siteFigures } from '#hub/store/site-figures.ts'
import { storedBytesOfAll } from '#hub/store/stored-bytes.ts'
import type { Counter } from '#shared/counter.ts'
import { problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'

/** Maximum number of sites whose states are reported. */
const MAX_SITES = 100_000
const TEXT = 'text/plain; version=0.0.4'

/** `/metrics`: counters of this hub, for Prometheus. Each of several hubs counts its own requests. */
export function createMetricsApi(
  { budgets, clock, continuity, database, intentWatch, monotonicClock, pushTimes }: PeopleApiDeps,
  refusedPeople: Counter,
): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    route.get('/metrics', 'Get all metrics', {
      description: 'For Prometheus, with the key of an admin in X-API-Key or as Authorization: Bearer.',
      middleware: [adminOnly],
      responses: {
        200: { description: 'The Prometheus text format.', content: { [TEXT]: { schema: z.string() } } },
        ...problems(403),
      },
    }),
    async (c) => {
      const stored = await storedBytesOfAll(database)
      const sites = await pageOfSites(database, null, { order: 'asc', limit: MAX_SITES, offset: 0 })
      const siteIds = sites.map(({ site_id }) => site_id)
      const figures = await siteFigures(database, siteIds)
      const times = await timesOf({ continuity, clock, monotonicClock }, siteIds)
      const states = sites.flatMap((site) => {
        const ofSite = figures.get(site.site_id)
        return ofSite === undefined ? [] : [{ site, ...siteHealth(site, ofSite, times, budgets.maxBytes) }]
      })
      const connections = database.connections?.()
      const refused = budgets.refused
        .entries()
        .map(([reason, count]) => `cartbarn_hub_refused_total{reason="${reason}"} ${count}`)
      const lines = [
        '# HELP cartbarn_hub_refused_total Requests of gateways that the hub refused, by reason.',
        '# TYPE cartbarn_hub_refused_total counter',
        ...refused,
        '# HELP cartbarn_budget_refused_total What people and their programs were refused, by budget.',
        '# TYPE cartbarn_budget_refused_total counter',
        ...refusedPeople
          .entries()
          .map(([budget, count]) => `cartbarn_budget_refused_total{budget="${budget}"} ${count}`),
        '# HELP cartbarn_hub_waiting_gateways Gateways that wait for intents.',
        '# TYPE cartbarn_hub_waiting_gateways gauge',
        `cartbarn_hub_waiting_gateways ${intentWatch.waitingCount}`,
        '# HELP cartbarn_hub_site_stored_bytes Bytes stored for each site; the same at each hub of a database.',
        '# TYPE cartbarn_hub_site_stored_bytes gauge',
        ...stored.map(({ siteId, bytes }) => `cartbarn_hub_site_stored_bytes{site="${siteId}"} ${bytes}`),
        '# HELP cartbarn_hub_site_max_bytes Maximum bytes stored for a site; 0 means no limit.',
        '# TYPE cartbarn_hub_site_max_bytes gauge',
        `cartbarn_hub_site_max_bytes ${budgets.maxBytes}`,
        '# HELP cartbarn_hub_site_state The state of each site, as in GET /sites: always 1, with the name of the ' +
          'state; the same at each hub except for comparing, which each hub determines separately.',
        '# TYPE cartbarn_hub_site_state gauge',
        ...states.map(({ site, state }) => `cartbarn_hub_site_state{site="${site.site_id}",state="${state}"} 1`),
        '# HELP cartbarn_hub_site_last_seen_timestamp_seconds Time of the last request of the gateway of a site, in ' +
          'seconds since 1970; none before the first time.',
        '# TYPE cartbarn_hub_site_last_seen_timestamp_seconds gauge',
        ...sites.flatMap(({ site_id, last_seen_ms: seenMs }) =>
          seenMs === null ? [] : [`cartbarn_hub_site_last_seen_timestamp_seconds{site="${site_id}"} ${seenMs / 1000}`],
        ),
        '# HELP cartbarn_hub_site_backlog_rows Rows that the gateway of a site has not sent yet, by its last report.',
        '# TYPE cartbarn_hub_site_backlog_rows gauge',
        ...sites.flatMap(({ site_id, backlog_rows: rows }) =>
          rows === null ? [] : [`cartbarn_hub_site_backlog_rows{site="${site_id}"} ${rows}`],
        ),
        ...(connections === undefined
          ? []
          : [
              '# HELP cartbarn_hub_database_connections Connections of this hub to PostgreSQL.',
              '# TYPE cartbarn_hub_database_connections gauge',
              `cartbarn_hub_database_connections{state="used"} ${connections.used}`,
              `cartbarn_hub_database_connections{state="idle"} ${connections.idle}`,
              '# HELP cartbarn_hub_database_waiting Statements and transactions that wait for a connection.',
              '# TYPE cartbarn_hub_database_waiting gauge',
              `cartbarn_hub_database_waiting ${connections.waiting}`,
            ]),
        '# HELP cartbarn_hub_push_seconds How long this hub took to store a push of a gateway.',
        '# TYPE cartbarn_hub_push_seconds histogram',
        ...pushTimes.lines('cartbarn_hub_push_seconds'),
      ]
      return c.text(`${lines.join('\n')}\n`, 200, { 'content-type': TEXT })
    },
  )
  return api
}
