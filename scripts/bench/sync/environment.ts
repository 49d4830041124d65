import pg from 'pg'
import { type PostgresServerOptions, startPostgres } from '#hub/testing/start-postgres.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { HubProcess } from '#scripts/rig/hub-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'

const SITE = 'bench'

/** Hub with one site, and queries of its database. */
export type SiteHub = Awaited<ReturnType<typeof startSiteHub>>

/** Starts a hub in its own process over its own real PostgreSQL, with one site. */
export async function startSiteHub(bench: Workbench, options: PostgresServerOptions = {}) {
  const postgres = await startPostgres(options)
  const hub = new HubProcess(bench, {
    CARTBARN_HUB_DATABASE_URL: postgres.url,
    // the benchmark measures the hub's speed, not the rate limit of a site
    CARTBARN_HUB_SITE_RECORDS_PER_SECOND: '0',
  })
  const siteKey = await hub.addSite(SITE)
  await hub.start()
  const url = `http://127.0.0.1:${hub.port}`
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 })
  const rows = async <Row extends pg.QueryResultRow>(sql: string) => (await pool.query<Row>(sql)).rows
  /** First column of the first row. */
  const number = async (sql: string) => {
    const [row = {}] = await rows<Record<string, unknown>>(sql)
    return Number(Object.values(row)[0] ?? 0)
  }
  return {
    url,
    /** Environment of a gateway that replicates to this hub. */
    env: { CARTBARN_UPSTREAM_URL: url, CARTBARN_UPSTREAM_KEY: siteKey, CARTBARN_SITE_ID: SITE },
    rows,
    number,
    rowsTaken: () => number("SELECT sum(row_count) FROM sync_cursor WHERE stream IN ('telemetry', 'history')"),
    /** Bytes of all tables with their indexes and TOAST data. */
    databaseBytes: () =>
      number(
        `SELECT sum(pg_total_relation_size(oid)) FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
      ),
    stop: async () => {
      await pool.end()
      await hub.end('SIGTERM')
      await postgres.stop()
    },
  }
}

/** Bytes that a gateway has sent in requests of a kind: `push` for data, `latest` for states of devices. */
export async function bytesSent({ api }: GatewayProcess, request: 'push' | 'latest'): Promise<number> {
  return (await api.metrics(`request="${request}"`)).get('cartbarn_sync_sent_bytes_total') ?? 0
}
