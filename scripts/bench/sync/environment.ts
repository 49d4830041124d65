import pg from 'pg'
import { type PostgresServerOptions, startPostgres } from '#hub/testing/start-postgres.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { HubProcess } from '#scripts/rig/hub-process.ts'
import { formatCount } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'

export const SITE = 'bench'

/** A hub in its own process over its own real PostgreSQL, with one site. */
export class SyncEnvironment {
  readonly #hub: HubProcess
  readonly #siteKey: string
  readonly #pool: pg.Pool
  readonly #stopPostgres: () => Promise<void>

  private constructor(hub: HubProcess, siteKey: string, pool: pg.Pool, stopPostgres: () => Promise<void>) {
    this.#hub = hub
    this.#siteKey = siteKey
    this.#pool = pool
    this.#stopPostgres = stopPostgres
  }

  static async create(
    { bench }: Pick<ScenarioContext, 'bench'>,
    options: PostgresServerOptions = {},
  ): Promise<SyncEnvironment> {
    const postgres = await startPostgres(options)
    const hub = new HubProcess(bench, {
      CARTBARN_HUB_DATABASE_URL: postgres.url,
      // the benchmark measures the hub's speed, not the rate limit of a site
      CARTBARN_HUB_SITE_RECORDS_PER_SECOND: '0',
    })
    const siteKey = await hub.addSite(SITE)
    await hub.start()
    const pool = new pg.Pool({ connectionString: postgres.url, max: 2 })
    return new SyncEnvironment(hub, siteKey, pool, () => postgres.stop())
  }

  get hubUrl(): string {
    return `http://127.0.0.1:${this.#hub.port}`
  }

  /** Environment of a gateway that replicates to this hub. */
  get env(): Record<string, string> {
    return {
      CARTBARN_UPSTREAM_URL: this.hubUrl,
      CARTBARN_UPSTREAM_KEY: this.#siteKey,
      CARTBARN_SITE_ID: SITE,
    }
  }

  async rows<Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(sql, values)).rows
  }

  async number(sql: string, values: unknown[] = []): Promise<number> {
    const [row] = await this.rows<Record<string, unknown>>(sql, values)
    return Number(Object.values(row ?? {})[0] ?? 0)
  }

  async rowsTaken(): Promise<number> {
    return await this.number(
      `SELECT coalesce(sum(row_count), 0) FROM sync_cursor
       WHERE site_id = $1 AND stream IN ('telemetry', 'history')`,
      [SITE],
    )
  }

  /** Bytes of all tables with their indexes and TOAST data. */
  async databaseBytes(): Promise<number> {
    return await this.number(
      `SELECT sum(pg_total_relation_size(oid)) FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    )
  }

  /** The tables with the most bytes, including indexes and TOAST data. */
  async largestTables(): Promise<[name: string, bytes: string][]> {
    const rows = await this.rows<{ name: string; bytes: string }>(
      `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY bytes DESC LIMIT 4`,
    )
    return rows.map(({ name, bytes }) => [name, formatCount(Number(bytes))])
  }

  async stop(): Promise<void> {
    await this.#pool.end()
    await this.#hub.end('SIGTERM')
    await this.#stopPostgres()
  }
}

/** Bytes a gateway reports as sent: data, and states of devices. */
export async function bytesSent({ api }: GatewayProcess): Promise<{ data: number; states: number }> {
  const sent = async (request: string) =>
    (await api.metrics(`request="${request}"`)).get('cartbarn_sync_sent_bytes_total') ?? 0
  return { data: await sent('push'), states: await sent('latest') }
}
