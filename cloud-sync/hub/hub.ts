import { createHubApp } from '#hub/api/app.ts'
import { Continuity } from '#hub/sites/continuity.ts'
import { SiteKeys } from '#hub/sites/site-keys.ts'
import { Sites } from '#hub/sites/sites.ts'
import type { Database } from '#hub/store/database/database.ts'
import { openDatabase } from '#hub/store/database/open.ts'
import { PartDecoder } from '#hub/sync/part-decoder.ts'
import { SiteBudgets } from '#hub/sync/site-budgets.ts'
import { AdminKeyFile } from '#shared/admin-key-file.ts'
import type { Counter } from '#shared/counter.ts'
import { Certificate } from '#shared/http/certificate.ts'
import { ClientAddresses } from '#shared/http/client-address.ts'
import { HttpListener } from '#shared/http/listener.ts'
import { withPortFaults } from '#shared/http/port-fault.ts'
import { type Component, startAll, stopAll } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, systemClock } from '#shared/time.ts'
import { HubAdminKey } from './admin-key.ts'
import { runHubCommand } from './commands.ts'
import { createCompaction } from './compaction.ts'
import { describeHubSettings, type HubConfig } from './config.ts'
import { ControlSocket } from './control-socket.ts'
import { IntentWatch } from './intent-watch.ts'
import { PushTimes } from './push-times.ts'
import { RepeatedTask } from './repeated-task.ts'
import { createRetention } from './retention.ts'
import { createStorageCount } from './stored-bytes-refresh.ts'

const CHECK_EVERY_MS = 10_000

/** Checks periodically if the database went back, so that a hub without requests also detects it. */
function createContinuityCheck(continuity: Continuity, log: Log): RepeatedTask {
  return new RepeatedTask({
    everyMs: CHECK_EVERY_MS,
    task: async () => {
      await continuity.trust()
    },
    failure: 'cannot check whether the database went back to an earlier state; retrying later',
    log,
  })
}

export interface Hub extends Component {
  readonly app: ReturnType<typeof createHubApp>
  readonly database: Database
  readonly sites: Sites
  /** File with the admin's key until its first use; null afterwards, and if the key was configured. */
  adminKeyFile(): AdminKeyFile | null
  readonly intentWatch: IntentWatch
  readonly continuityCheck: RepeatedTask
  readonly retention: RepeatedTask
  readonly storageCount: RepeatedTask
  /** Refused requests of gateways, by reason. */
  readonly refused: Counter
  /** Address of the listener, once it is started. */
  url(): string
}

/** Clock and database that tests use instead of the real ones. */
export interface HubOverrides {
  clock?: Clock
  /** May be shared; the hub starts and stops it anyway. */
  database?: Database
  /** Timeout of the body of a gateway's request. */
  bodyTimeoutMs?: number
}

/** Maximum time that open requests get during a stop. */
const DRAIN_MS = 5_000
/** Longer than load balancers and gateways keep idle connections: a request fails if the hub closes one under it. */
const KEEP_ALIVE_MS = 75_000
const TLS_SETTINGS = { cert: 'CARTBARN_HUB_TLS_CERT', key: 'CARTBARN_HUB_TLS_KEY' }

export function createHub(config: HubConfig, log: Log, overrides: HubOverrides = {}): Hub {
  const clock = overrides.clock ?? systemClock
  const database = overrides.database ?? openDatabase({ url: config.databaseUrl, dataDir: config.dataDir, log })
  const sites = new Sites(database, clock)
  const continuity = new Continuity({ database, monotonicClock: systemClock, log })
  const intentWatch = new IntentWatch(database, log)
  const compaction = createCompaction(database, clock, log)
  const retention = createRetention(database, clock, log, config)
  const addresses = new ClientAddresses(config.trustedProxies)
  const keyFile = new AdminKeyFile(config.dataDir)
  const adminKey = new HubAdminKey({ database, clock, log, file: keyFile, dataDir: config.dataDir }, config.adminApiKey)
  const { siteRequestsPerSecond, siteRecordsPerSecond, siteMaxBytes } = config
  const budgets = new SiteBudgets(systemClock, {
    requestsPerSecond: siteRequestsPerSecond,
    recordsPerSecond: siteRecordsPerSecond,
    maxBytes: siteMaxBytes,
  })
  const storageCount = createStorageCount(database, clock, log, budgets)
  const continuityCheck = createContinuityCheck(continuity, log)
  const siteKeys = new SiteKeys(database, systemClock, budgets.refused)
  const decoder = new PartDecoder(log)
  const app = createHubApp({
    database,
    sites,
    continuity,
    siteKeys,
    budgets,
    decoder,
    intentWatch,
    clock,
    log,
    addresses,
    monotonicClock: systemClock,
    pushTimes: new PushTimes(systemClock),
    ...(overrides.bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs: overrides.bodyTimeoutMs }),
    requestsPerSecond: config.requestsPerSecond,
    erasedKeepDays: config.erasedKeepDays,
    settings: describeHubSettings(),
    onKeyUsed: (keyHash) => adminKey.wasUsed(keyHash),
    onIntent: (siteId) => intentWatch.wake(siteId),
  })
  const { host, port, tls } = config
  const http = new HttpListener(
    {
      host,
      port,
      addresses,
      isSecure: tls !== undefined,
      drainMs: DRAIN_MS,
      keepAliveMs: KEEP_ALIVE_MS,
      closed: budgets.refused,
    },
    app.fetch,
  )
  const certificate = tls && new Certificate({ files: tls, settings: TLS_SETTINGS, clock, log })
  certificate?.secure(http)
  // only the embedded database cannot be opened by a second process
  const control =
    config.databaseUrl === undefined
      ? [new ControlSocket(config.dataDir, (command) => runHubCommand({ sites, adminKey, database }, command), log)]
      : []
  // stopped in reverse order: first the HTTP listener, then waiting gateways, then background work
  const parts: Partial<Component>[] = [
    ...(certificate === undefined ? [] : [certificate]),
    database,
    continuity,
    continuityCheck,
    compaction,
    retention,
    storageCount,
    ...control,
    decoder,
    { stop: () => http.drain() },
    withPortFaults(http, 'CARTBARN_HUB_PORT', 'CARTBARN_HUB_HOST'),
    // after everything that may fail, so that no key is created that is never shown
    adminKey,
    intentWatch,
  ]
  return {
    app,
    database,
    sites,
    intentWatch,
    continuityCheck,
    retention,
    storageCount,
    refused: budgets.refused,
    start: () => startAll(parts),
    stop: () => stopAll(parts),
    adminKeyFile: () => (adminKey.isWaiting ? keyFile : null),
    url: () => http.url,
  }
}
