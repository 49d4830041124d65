import type { HubConfig } from '#hub/config.ts'
import { createHub, type Hub, type HubOverrides } from '#hub/hub.ts'
import { createLog } from '#shared/log.ts'
import { SetClock } from '#shared/testing/clocks.ts'
import type { DatabaseKind } from './databases.ts'
import { SiteClient } from './site-client.ts'

/** Complete hub with its own database. */
export class TestHub {
  readonly clock = new SetClock()
  #hub: Hub | undefined
  #sites = 0

  get hub(): Hub {
    if (this.#hub === undefined) throw new Error('the hub has not been started')
    return this.#hub
  }

  /** Starts the hub on a free port. */
  async start(kind: DatabaseKind, settings: Partial<HubConfig> = {}, overrides: HubOverrides = {}): Promise<void> {
    const own = { clock: this.clock, database: await kind.open() }
    this.#hub = createHub({ ...HUB_CONFIG, ...settings }, createLog('silent'), { ...overrides, ...own })
    await this.#hub.start()
  }

  /** Adds a site and a gateway that has sent hello. */
  async site(): Promise<SiteClient> {
    const site = this.client(`site-${this.#sites + 1}`, '')
    await this.admit(site)
    return site
  }

  /** Adds the next site, gives its gateway the key, and lets it send hello. */
  async admit(site: SiteClient): Promise<void> {
    site.key = (await this.hub.sites.add(`Site ${++this.#sites}`)).key
    await site.hello()
  }

  /** Returns the number of rows of a site in a table. */
  async count(site: SiteClient, table: string): Promise<number> {
    const sql = `SELECT COUNT(*) AS count FROM ${table} WHERE site_id = $1`
    return (await this.hub.database.get<{ count: number }>(sql, [site.siteId]))?.count ?? 0
  }

  client(siteId: string, key: string): SiteClient {
    return new SiteClient((path, init) => this.hub.app.request(path, init), siteId, key)
  }

  async stop(): Promise<void> {
    await this.#hub?.stop()
  }
}

export const HUB_CONFIG: HubConfig = {
  host: '127.0.0.1',
  port: 0,
  // not opened: the database is passed in
  databaseUrl: 'postgres://none',
  dataDir: '',
  adminApiKey: 'hub_admin_key_for_tests_0123456789',
  requestsPerSecond: 0,
  trustedProxies: undefined,
  siteRequestsPerSecond: 0,
  siteRecordsPerSecond: 0,
  siteMaxBytes: 0,
  erasedKeepDays: 30,
  auditLogRetentionDays: 400,
  logLevel: 'silent',
  tls: undefined,
}

export async function openHub(
  kind: DatabaseKind,
  settings: Partial<HubConfig> = {},
  overrides: HubOverrides = {},
): Promise<TestHub> {
  const hub = new TestHub()
  await hub.start(kind, settings, overrides)
  return hub
}
