import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { storedBytesOfAll } from '#hub/store/stored-bytes.ts'
import { problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import type { Tally } from '#shared/tally.ts'
import type { PeopleApiDeps } from './deps.ts'
import { createHubPart, type HubEnv } from './env.ts'
import { adminOnly } from './guards.ts'

const TEXT = 'text/plain; version=0.0.4'

/** `/metrics`: what this hub counts, for Prometheus. Several hubs count requests each for itself. */
export function createMetricsApi(
  { budgets, database, intentWatch }: PeopleApiDeps,
  refusedPeople: Tally,
): OpenAPIHono<HubEnv> {
  const api = createHubPart()
  api.openapi(
    route.get('/metrics', 'Get all metrics', {
      description: 'For Prometheus, with the key of an admin in X-API-Key.',
      middleware: [adminOnly],
      responses: {
        200: { description: 'The Prometheus text format.', content: { [TEXT]: { schema: z.string() } } },
        ...problems(403),
      },
    }),
    async (c) => {
      const stored = await storedBytesOfAll(database)
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
        '# HELP cartbarn_hub_site_stored_bytes What the head office keeps of each site; the same at each of its hubs.',
        '# TYPE cartbarn_hub_site_stored_bytes gauge',
        ...stored.map(({ siteId, bytes }) => `cartbarn_hub_site_stored_bytes{site="${siteId}"} ${bytes}`),
        '# HELP cartbarn_hub_site_max_bytes What it may keep of a site; 0 is no limit.',
        '# TYPE cartbarn_hub_site_max_bytes gauge',
        `cartbarn_hub_site_max_bytes ${budgets.maxBytes}`,
      ]
      return c.text(`${lines.join('\n')}\n`, 200, { 'content-type': TEXT })
    },
  )
  return api
}
