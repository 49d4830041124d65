import pg from 'pg'
import { z } from 'zod'
import { startPostgres } from '#hub/testing/start-postgres.ts'
import type { GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { BenchProcess } from '#scripts/rig/processes.ts'
import { formatCount } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'

const START_LIMIT_MS = 60_000
const HUB_ENTRY = 'cloud-sync/hub/main.ts'

/** The key of the first admin of the hub under test. */
export const HUB_ADMIN_KEY = 'bench-hub-admin-key-0123456789abcdef'
export const SITE = 'bench'

const listeningSchema = z.object({ msg: z.literal('listening'), http: z.string() })
const siteSchema = z.object({ key: z.string() })

/** A hub in its own process over a real PostgreSQL of its own, with one site. */
export class SyncGround {
  readonly hubUrl: string
  readonly siteKey: string
  readonly #hub: BenchProcess
  readonly #pool: pg.Pool
  readonly #stopPostgres: () => Promise<void>

  private constructor(
    hub: { process: BenchProcess; url: string; siteKey: string },
    pool: pg.Pool,
    stopPostgres: () => Promise<void>,
  ) {
    this.#hub = hub.process
    this.hubUrl = hub.url
    this.siteKey = hub.siteKey
    this.#pool = pool
    this.#stopPostgres = stopPostgres
  }

  static async create({ bench }: ScenarioContext): Promise<SyncGround> {
    const postgres = await startPostgres()
    const hub = bench.spawn('hub', process.execPath, [HUB_ENTRY], {
      CARTBARN_HUB_HOST: '127.0.0.1',
      CARTBARN_HUB_PORT: '0',
      CARTBARN_HUB_DATABASE_URL: postgres.url,
      CARTBARN_HUB_ADMIN_API_KEY: HUB_ADMIN_KEY,
    })
    const { http: url } = await hub.take('"listening"', START_LIMIT_MS, (line) => {
      try {
        return listeningSchema.safeParse(JSON.parse(line)).data
      } catch {
        return undefined
      }
    })
    const response = await fetch(`${url}/sites`, {
      method: 'POST',
      headers: { 'X-API-Key': HUB_ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ site_id: SITE, name: 'Bench' }),
    })
    if (!response.ok) throw new Error(`POST /sites: ${response.status} ${await response.text()}`)
    const { key } = siteSchema.parse(await response.json())
    const pool = new pg.Pool({ connectionString: postgres.url, max: 2 })
    return new SyncGround({ process: hub, url, siteKey: key }, pool, () => postgres.stop())
  }

  /** What a gateway is started with to replicate to this hub. */
  get env(): Record<string, string> {
    return {
      CARTBARN_UPSTREAM_URL: this.hubUrl,
      CARTBARN_UPSTREAM_KEY: this.siteKey,
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

  /** Rows of telemetry the hub has taken. */
  async rowsTaken(): Promise<number> {
    return await this.number(
      `SELECT coalesce(sum(row_count), 0) FROM sync_cursor
       WHERE site_id = $1 AND stream IN ('telemetry', 'history')`,
      [SITE],
    )
  }

  /** Bytes of all tables with their indexes and what is stored beside them. */
  async databaseBytes(): Promise<number> {
    return await this.number(
      `SELECT sum(pg_total_relation_size(oid)) FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    )
  }

  /** The tables with the most bytes, indexes and what is stored beside them included. */
  async largestTables(): Promise<[name: string, bytes: string][]> {
    const rows = await this.rows<{ name: string; bytes: string }>(
      `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY bytes DESC LIMIT 4`,
    )
    return rows.map(({ name, bytes }) => [name, formatCount(Number(bytes))])
  }

  async stop(): Promise<void> {
    await this.#pool.end()
    await this.#hub.stop()
    await this.#stopPostgres()
  }
}

/** Bytes a gateway says it has sent: data, and states of devices. */
export async function bytesSent({ api }: GatewayProcess): Promise<{ data: number; states: number }> {
  return {
    data: await api.sum('cartbarn_sync_sent_bytes_total', 'request="push"'),
    states: await api.sum('cartbarn_sync_sent_bytes_total', 'request="latest"'),
  }
}
