import { createApp } from '#api/app.ts'
import { Dashboard } from '#api/dashboard/dashboard.ts'
import { toDeviceJson } from '#api/shown/device-json.ts'
import type { DiskProbe } from '#domain/written-disk.ts'
import { Realtime } from '#realtime/realtime.ts'
import { MqttAccess } from '#services/mqtt-access.ts'
import type { IntentInbox } from '#services/replication/intent-inbox.ts'
import type { AdminKeyFile } from '#shared/admin-key-file.ts'
import { type Component, startAll, stopAll } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { diskFolder, programFolder } from '#shared/program-files.ts'
import { type Config, describeSettings } from './config.ts'
import { reachableUrls } from './default-route.ts'
import { createHttp } from './http.ts'
import { createMetrics } from './metrics.ts'
import { createServices, type GatewayServices, type Overrides } from './services.ts'
import { wireEvents } from './wiring.ts'

/** A running gateway, or one that can be started. */
export interface Gateway extends Component {
  /** The app itself, for requests without a socket. */
  app: ReturnType<typeof createApp>
  /** What people call their course; empty as long as nobody has said. */
  siteName(): string
  /** What tells its data from that of other gateways; a repair or a restore gives it another. */
  identity(): string
  /** Takes intents of the head office. */
  intents: IntentInbox
  /** The disk, for those who watch whether the gateway still writes. */
  disk: DiskProbe
  /** Addresses in use, once started. */
  addresses(): Addresses
  /** Deletes what is too old by its age, without waiting until it is time to. */
  runRetention(): Promise<void>
  /** Reads the certificate again, if there is one, without waiting until the change is noticed. */
  reloadCertificate(): Promise<void>
  /** The file with the admin's key, as long as that was not used; null later, and when the key was given. */
  adminKeyFile(): AdminKeyFile | null
  /** Signs a browser in, once; null when an admin has signed in or used the key. For a terminal, never for a log. */
  setupCode(): string | null
}

export interface Addresses {
  http: string
  mqtt?: string
  mqtts?: string
}

/** Builds a gateway: its services, what it serves, and the order of start. `wiring.ts` connects events. */
export function createGateway(config: Config, log: Log, overrides: Overrides = {}): Gateway {
  const parts = createServices(config, log, overrides, () => http.url)
  const { store, broker, mqtt, tls, firstAdminKey } = parts
  const access = new MqttAccess(parts)
  const realtime = new Realtime({ ...parts, toDeviceJson })
  const dashboard = new Dashboard(
    overrides.dashboardDir === undefined ? programFolder('dist/dashboard') : diskFolder(overrides.dashboardDir),
    log,
  )
  const app = createApp({
    ...parts,
    realtime,
    dashboard,
    metrics: createMetrics({ ...parts, realtime }),
    settings: describeSettings(),
    mqttAddresses: () => reachableUrls(config.host, Object.values(mqtt.urls())),
  })
  const { http, door } = createHttp({
    ...parts,
    app,
    realtime,
    webSockets: mqtt.webSockets,
    onUpgrade: overrides.onUpgrade,
  })
  tls.secure(http)
  if (mqtt.tls !== undefined) tls.secure(mqtt.tls)
  wireEvents(parts)

  // stopped last to first: doors, then connections (whose last wills are stored), then what remains to be written
  const order: Partial<Component>[] = [
    ...tls.parts,
    dashboard,
    parts.kernelSync,
    door.withStore,
    parts.machine,
    parts.ingest,
    parts.clockMark,
    parts.clockConfirmation,
    // told of the first beat of the carts
    parts.users,
    parts.sessions,
    { start: () => loadMemory(parts) },
    parts.rounds,
    parts.carts,
    // which may be waiting for its turn behind a long sealing: that ends first
    parts.retention,
    parts.eventRetention,
    parts.alertRetention,
    parts.diskGuard,
    parts.sealing,
    parts.eventGrowth,
    parts.outbox,
    parts.delivery,
    parts.recall,
    { stop: () => http.drain() },
    mqtt.connections,
    { start: () => broker.start(access), stop: () => broker.stop() },
    // the broker must know what it keeps before anything is published
    parts.publisher,
    { start: () => parts.groups.publishMissing() },
    parts.zoneSwitches,
    parts.zoneExempts,
    parts.alerts,
    // its watchers are not told that all devices went offline when the gateway stops
    realtime,
    // devices are let in last: until then nothing was promised that going back would lose
    door,
    ...mqtt.listeners,
    // whatever fails before has made no key that nobody would ever see
    parts.firstAdminKey,
    parts.databaseCheck,
    parts.backups,
    // waits for nobody, and nobody for it
    ...(parts.sync === undefined ? [] : [parts.sync]),
  ]
  return {
    app,
    intents: parts.intents,
    disk: store,
    siteName: () => parts.site.settings.name,
    identity: () => store.read.syncIdentity().epoch,
    start: () => startAll(order),
    stop: () => stopAll(order),
    addresses: () => ({ http: http.url, ...mqtt.urls() }),
    runRetention: async () => {
      for (const retention of [parts.retention, parts.eventRetention, parts.alertRetention]) await retention.runOnce()
    },
    reloadCertificate: tls.reload,
    adminKeyFile: () => (firstAdminKey.isWaiting ? parts.keyFile : null),
    setupCode: () => firstAdminKey.setupCode ?? null,
  }
}

/** Reads what is kept in memory, devices before all that belongs to one. */
async function loadMemory(parts: GatewayServices): Promise<void> {
  const { enrolment, fleet, store, clock, geofences, devices } = parts
  await enrolment.start()
  fleet.load(store.read, clock.latestEventMs(clock.nowMs()))
  const { site, course, webhooks, notifiers, persons, groups, deviceTypes, publisher } = parts
  const nouns = [site, course, webhooks, notifiers, persons, groups, geofences, deviceTypes, publisher]
  for (const part of [...nouns, parts.damage, parts.alerts, parts.autoLock, parts.closing]) part.load()
  await parts.geofenceTokens.load()
  devices.startDeletions()
}
