import type { HubConfig } from '#hub/config.ts'
import { createHub, type Hub, type HubOverrides } from '#hub/hub.ts'
import { createLog } from '#shared/log.ts'
import { SetClock } from '#shared/testing/clocks.ts'
import type { DatabaseKind } from './databases.ts'
import { SiteClient } from './site-client.ts'

/** Complete hub with its own database. */
export class TestHub {
  readonly hub: Hub
  readonly clock: SetClock
  #sites = 0

  constructor(hub: Hub, clock: SetClock) {
    this.hub = hub
    this.clock = clock
  }

  /** Adds a site and a gateway that has sent hello. */
  async site(): Promise<SiteClient> {
    const { siteId, key } = await this.hub.sites.add(`Site ${++this.#sites}`)
    const client = this.client(siteId, key)
    await client.hello()
    return client
  }

  client(siteId: string, key: string): SiteClient {
    return new SiteClient((path, init) => this.hub.app.request(path, init), siteId, key)
  }

  stop(): Promise<void> {
    return this.hub.stop()
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

/** Starts a hub on a free port. */
export async function openHub(
  kind: DatabaseKind,
  settings: Partial<HubConfig> = {},
  overrides: HubOverrides = {},
): Promise<TestHub> {
  const clock = new SetClock()
  const database = await kind.open()
  const hub = createHub({ ...HUB_CONFIG, ...settings }, createLog('silent'), {
    ...overrides,
    clock,
    database,
  })
  await hub.start()
  return new TestHub(hub, clock)
}
