import { createApp } from '#api/app.ts'
import { Dashboard } from '#api/dashboard/dashboard.ts'
import { toDeviceJson } from '#api/json/device-json.ts'
import { Realtime } from '#realtime/realtime.ts'
import { MqttAccess } from '#services/mqtt-access.ts'
import { Restores } from '#services/restores.ts'
import { type Component, startAll, stopAll } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { diskFolder, programFolder } from '#shared/program-files.ts'
import { type Config, describeSettings } from './config.ts'
import { reachableUrls } from './default-route.ts'
import { createHttp } from './http.ts'
import { createMetrics } from './metrics.ts'
import { ownTlsOf } from './network-settings.ts'
import { type Gateway, RestorableGateway } from './restorable-gateway.ts'
import { createServices, type GatewayServices, type Overrides } from './services.ts'
import { wireEvents } from './wiring.ts'

/** Creates a gateway that restarts itself to restore a backup. */
export function createGateway(config: Config, log: Log, overrides: Overrides = {}): Gateway {
  const restores = new Restores()
  // a backup may have brought an authority
  const configNow = () => ({ ...config, tls: config.tls ?? ownTlsOf(config.dataDir) })
  return new RestorableGateway(() => buildGateway(configNow(), log, overrides, restores), restores, log)
}

/** Builds a gateway: its services, HTTP, and the order of start. `wiring.ts` connects events. */
function buildGateway(config: Config, log: Log, overrides: Overrides, restores: Restores): Gateway {
  const parts = createServices(config, log, { ...overrides, restores }, () => http.url)
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

  // stopped last to first: listeners, then connections (whose last wills are stored), then everything still unwritten
  const order: Partial<Component>[] = [
    ...tls.parts,
    dashboard,
    parts.kernelSync,
    door.withStore,
    parts.machine,
    parts.ingest,
    parts.clockMark,
    parts.clockConfirmation,
    // started before the first tick of the carts
    parts.users,
    parts.sessions,
    { start: () => loadMemory(parts) },
    parts.persons,
    parts.rounds,
    parts.carts,
    // it may wait for the maintenance lock during a long sealing, which is stopped first
    parts.retention,
    parts.eventRetention,
    parts.alertRetention,
    parts.diskGuard,
    parts.sealing,
    parts.eventGrowth,
    parts.outbox,
    parts.mailReports,
    parts.delivery,
    parts.parties,
    parts.serviceBook,
    parts.recall,
    { stop: () => http.drain() },
    mqtt.connections,
    { start: () => broker.start(access), stop: () => broker.stop() },
    // the broker must have loaded its sessions before anything is published
    parts.publisher,
    { start: () => parts.groups.publishMissing() },
    parts.zoneSwitches,
    parts.zoneExempts,
    parts.alerts,
    // stopped before MQTT, so that its clients are not notified that all devices went offline
    realtime,
    // devices are admitted last: until then nothing was acknowledged that a rollback would lose
    door,
    ...mqtt.listeners,
    // last, so that a failed start leaves no key that was never shown
    parts.firstAdminKey,
    parts.databaseCheck,
    parts.backups,
    parts.setUpBackups,
    // independent of all other components
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

/** Loads the state that is kept in memory; devices before everything that belongs to a device. */
async function loadMemory(parts: GatewayServices): Promise<void> {
  const { enrolment, fleet, store, clock, geofences, devices } = parts
  await enrolment.start()
  fleet.load(store.read, clock.latestEventMs(clock.nowMs()))
  const { site, course, webhooks, notifiers, persons, groups, deviceTypes, publisher } = parts
  const nouns = [site, course, webhooks, notifiers, persons, groups, geofences, deviceTypes, publisher]
  for (const part of [
    ...nouns,
    parts.damage,
    parts.alerts,
    parts.autoLock,
    parts.closing,
    parts.roundTimeout,
    parts.parties,
    parts.mailReports,
    parts.serviceBook,
  ])
    part.load()
  await parts.geofenceTokens.load()
  devices.startDeletions()
}
