import { createApp } from '#api/app.ts'
import { Dashboard } from '#api/dashboard/dashboard.ts'
import { toDeviceJson } from '#api/shown/device-json.ts'
import { deviceTypes as builtInTypes } from '#devices/all.ts'
import type { Caller } from '#domain/access.ts'
import { toAlertJson } from '#domain/alert.ts'
import { readMachineSigns } from '#host/machine-signs.ts'
import type { WrittenDisk } from '#host/watchdog.ts'
import { Realtime } from '#realtime/realtime.ts'
import { FirstAdminKey } from '#services/admin-key.ts'
import { Alerts } from '#services/alerts/alerts.ts'
import { Backups } from '#services/backups.ts'
import { CartNotebook } from '#services/carts/cart-notebook.ts'
import { Carts } from '#services/carts/carts.ts'
import { VisibleCarts } from '#services/carts/visible-carts.ts'
import { ZoneExempts } from '#services/carts/zone-exempts.ts'
import { AgeBrake } from '#services/clock/age-brake.ts'
import { ClockConfirmation } from '#services/clock/confirmation.ts'
import { GatewayClock } from '#services/clock/gateway-clock.ts'
import { hardwareTimesMs } from '#services/clock/hardware-clock.ts'
import { KernelSync } from '#services/clock/kernel-sync.ts'
import { ClockMark } from '#services/clock/mark.ts'
import { isTimeSynchronized } from '#services/clock/time-sync.ts'
import { Commands } from '#services/commands/commands.ts'
import { CommandDelivery } from '#services/commands/delivery.ts'
import { LockGate } from '#services/commands/lock-gate.ts'
import { createConfiguration } from '#services/configuration/configuration.ts'
import { CourseDrawing } from '#services/course.ts'
import { DatabaseCheck } from '#services/database-check.ts'
import { Devices } from '#services/devices/devices.ts'
import { Enrolment } from '#services/devices/enrolment.ts'
import { DeviceImport } from '#services/devices/import.ts'
import { type Device, Fleet } from '#services/fleet.ts'
import { Ingest } from '#services/ingest/ingest.ts'
import type { QueuedMessage } from '#services/ingest/queued-message.ts'
import { createLocks } from '#services/locks/locks.ts'
import { OwnMachine } from '#services/machine.ts'
import { MqttAccess } from '#services/mqtt-access.ts'
import { Origins } from '#services/origins.ts'
import { createPeople } from '#services/people/people.ts'
import { PlainHttp } from '#services/plain-http.ts'
import { Presence } from '#services/presence.ts'
import { Recall } from '#services/recall/recall.ts'
import type { IntentInbox } from '#services/replication/intent-inbox.ts'
import { Reports } from '#services/reports.ts'
import { Erasures } from '#services/retention/erasures.ts'
import { EventGrowth } from '#services/retention/event-growth.ts'
import { Rounds } from '#services/rounds/rounds.ts'
import { Site } from '#services/site.ts'
import { BlockDamage } from '#services/telemetry/block-damage.ts'
import { createTelemetry } from '#services/telemetry/telemetry.ts'
import { Tracks } from '#services/tracks.ts'
import { Trips } from '#services/trips.ts'
import { Users } from '#services/users.ts'
import { ZoneSwitches } from '#services/zones/switches.ts'
import { AdminKeyFile } from '#shared/admin-key-file.ts'
import { Turns } from '#shared/budgets/turns.ts'
import { Certificate } from '#shared/http/certificate.ts'
import { ClientAddresses } from '#shared/http/client-address.ts'
import { HttpListener, shownHost } from '#shared/http/listener.ts'
import { withPortFaults } from '#shared/http/port-fault.ts'
import { type Part, startAll, stopAll } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { diskFolder, programFolder } from '#shared/program-files.ts'
import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'
import { readVersion } from '#shared/version.ts'
import { Store } from '#store/store.ts'
import type { OnUpgrade } from '#store/upgrade/upgrade.ts'
import { createBudgets } from './budgets.ts'
import { type Config, describeSettings } from './config.ts'
import { reachableUrls } from './default-route.ts'
import { EarlyDoor } from './early-door.ts'
import { Events } from './events.ts'
import { createMetrics } from './metrics.ts'
import { createMqtt, type Mqtt } from './mqtt.ts'
import { createNotifications } from './notifications.ts'
import { Opening } from './opening.ts'
import { createReplication } from './replication.ts'
import { authorityCertificate, certificateOptions, certificateWatch, renewalOf } from './tls.ts'
import { createUpgradeHandler } from './upgrades.ts'
import { wireEvents } from './wiring.ts'

/** A running gateway, or one that can be started. */
export interface Gateway extends Part {
  /** The app itself, for requests without a socket. */
  app: ReturnType<typeof createApp>
  /** What people call their course; empty as long as nobody has said. */
  siteName(): string
  /** What tells its data from that of other gateways; a repair or a restore gives it another. */
  identity(): string
  /** Takes intents of the head office. */
  intents: IntentInbox
  /** The disk, for those who watch whether the gateway still writes. */
  disk: WrittenDisk
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

export interface Overrides {
  /** Stands for the system's clocks. */
  clock?: Clock & MonotonicClock
  /** Stands for what the system says of its clock. */
  isTimeSynchronized?: (systemMs: number) => boolean
  /** Stands for what the battery clocks of the machine show. */
  hardwareTimesMs?: () => readonly number[]
  /** False sends everything through Aedes: to show that it comes to the same. */
  hasFastLane?: boolean
  /** Stands for the `/` below which the machine says what it is. */
  machineRoot?: string
  /** Stands for the folder with the build of the app. */
  dashboardDir?: string
  /** How often carts are judged. */
  heartbeatMs?: number
  /** Is told of each step of an upgrade of the database, for whoever limits how long a start may take. */
  onUpgrade?: OnUpgrade
}

/** How long the body of a request may take. */
const REQUEST_MS = 60_000
/** How long HTTP requests under way may take at the end. */
const DRAIN_MS = 1_000
const HOST_SETTING = 'CARTBARN_HOST'

/** Builds a gateway: every part, and who knows whom. `wiring.ts` connects events; the order of start is at the end. */
export function createGateway(config: Config, log: Log, overrides: Overrides = {}): Gateway {
  const system = overrides.clock ?? systemClock
  const kernelSync = new KernelSync(system)
  const isSynchronized =
    overrides.isTimeSynchronized ?? ((systemMs) => isTimeSynchronized(systemMs) || kernelSync.isSynchronized)
  const clock = new GatewayClock({ system, isSynchronized })
  const events = new Events(log)
  const origins = new Origins()
  const store = new Store<QueuedMessage>(config, log, () => ({ ...origins.current, atMs: clock.nowMs() }))
  const base = { store, events, clock, log }
  const fleet = new Fleet()
  const users = new Users(base)
  const budgets = createBudgets(config, clock)
  const addresses = new ClientAddresses(config.trustedProxies)
  const site = new Site(base)
  const course = new CourseDrawing(base)
  const keyFile = new AdminKeyFile(config.dataDir)
  const firstAdminKey = new FirstAdminKey({ ...base, users, file: keyFile, givenKey: config.adminApiKey })
  const people = createPeople({ ...base, ...budgets, users, origins, firstAdminKey })
  const { sessions, persons, keyGuard } = people
  const presence = new Presence(events, clock)
  const brake = new AgeBrake(clock)
  const clockMark = new ClockMark({ ...base, brake })
  const clockConfirmation = new ClockConfirmation({
    ...base,
    clockMark,
    isSynchronized,
    hardwareTimesMs,
    ...overrides,
    clock,
    confirmedBy: config.clockConfirmedBy,
  })

  const { hasFastLane = true, heartbeatMs } = overrides
  const mqtt = createMqtt({ config, budgets, addresses, hasFastLane, ...base })
  const { broker } = mqtt
  const configuration = createConfiguration({ ...base, fleet, users, downlink: broker, builtInTypes })
  const { geofences, geofenceTokens, groups, deviceTypes, publisher } = configuration
  const maintenance = new Turns()
  const damage = new BlockDamage({ ...base, maintenance })
  const devices = new Devices({ ...base, ...configuration, fleet, damage, maintenance })
  const deviceImport = new DeviceImport({ ...base, ...configuration, fleet })
  const turns = budgets.commandTurns
  const startedAtMonotonicMs = clock.monotonicMs()
  const startedAtMs = () => Math.round(clock.nowMs() - clock.monotonicMs() + startedAtMonotonicMs)
  const cartNotes = new CartNotebook({ ...base, site })
  const carts = new Carts({
    ...base,
    fleet,
    geofences,
    site,
    users,
    startedAtMs,
    heartbeatMs,
    notes: cartNotes,
  })
  const gate = new LockGate({ ...base, carts, fleet, site })
  const delivery = new CommandDelivery({ ...base, downlink: broker, turns, gate })
  const downloadFor = (device: Device, caller: Caller) => geofenceTokens.tokenFor(device, caller)
  const commands = new Commands({ ...base, fleet, deviceTypes, delivery, turns, gate, downloadFor })
  const recall = new Recall({ ...base, fleet, deviceTypes, commands, delivery, site })
  const locks = createLocks({
    ...base,
    carts,
    commands,
    gate,
    deviceTypes,
    presence,
    site,
    origins,
    confirmation: clockConfirmation,
  })
  const machine = new OwnMachine({ ...base, readSigns: () => readMachineSigns(overrides.machineRoot) })
  const { intents, sync } = createReplication({
    ...base,
    ...configuration,
    config,
    fleet,
    commands,
    users,
    damage,
    maintenance,
    origins,
    machine,
    cartSaidOf: (hardwareId) => carts.saidOf(hardwareId, (cart) => locks.autoLock.atMs(cart)),
  })
  const telemetry = createTelemetry({ ...base, brake, fleet, damage, maintenance, options: config }, sync)
  const zoneExempts = new ZoneExempts({ ...base, ...configuration })
  const zoneSwitches = new ZoneSwitches({ ...base, ...configuration, site, origins })
  const rounds = new Rounds({ ...base, geofences })
  const visibleCarts = new VisibleCarts(carts, {
    autoLockAtMs: (cart) => locks.autoLock.atMs(cart),
    openAlertIdsOf: (key) => alerts.openAlertIdsOf(key),
  })
  const backups = new Backups({
    ...base,
    dataDir: config.dataDir,
    settings: config.backup,
    site,
    machine,
    confirmation: clockConfirmation,
  })
  const leafRenewal = config.tls?.isOfOwnAuthority ? renewalOf(config, base) : undefined
  const certificate = config.tls && new Certificate(certificateOptions(config.tls, config, base))
  const watched = certificate && certificateWatch(certificate, leafRenewal)
  const plainHttp = certificate && new PlainHttp(clock)
  const alerts = new Alerts({
    ...base,
    site,
    carts,
    users,
    sync,
    downlink: broker,
    diskGuard: telemetry.diskGuard,
    backups,
    confirmation: clockConfirmation,
    certificate: watched,
  })
  const eventGrowth = new EventGrowth(base)
  const databaseCheck = new DatabaseCheck(base)
  const isLocating = (hardwareId: string) => delivery.isLocating(hardwareId)
  const ingest = new Ingest({ ...base, brake, clockConfirmation, presence, geofences, isLocating })
  const enrolment = new Enrolment({ ...base, fleet, ...config.enrolment })
  const access = new MqttAccess({
    ...base,
    fleet,
    devices,
    users,
    keyGuard,
    ingest,
    presence,
    enrolment,
    clockConfirmation,
    lockEvents: budgets.lockEvents,
    alerts,
    answer: (topic, payload) => broker.publish(topic, payload),
    sendTo: (login, topic, payload) => broker.send(login.hardwareId, topic, payload, login),
    forgetSession: (clientId) => broker.forgetSession(clientId),
  })

  const { outbox, webhooks, notifiers } = createNotifications({
    ...base,
    config,
    site,
    carts,
    listeningUrl: () => http.url,
  })

  const realtime = new Realtime({
    ...base,
    fleet,
    toDeviceJson,
    commands,
    carts: visibleCarts,
    startedAtMs,
    users,
    persons,
    keyGuard,
    origins,
    alerts,
    alertsFor: (caller) => alerts.notClosedFor(caller).map(toAlertJson),
    version: readVersion().replace('cartbarn ', ''),
    sockets: budgets.realtimeSockets,
    halfOpen: budgets.realtimeHalfOpen,
  })
  const metrics = createMetrics({
    budgets,
    ingest,
    delivery,
    keyGuard,
    realtime,
    broker,
    store,
    damage,
    fleet,
    clock,
    clockConfirmation,
    recall,
    sync,
    certificate,
    telemetry: telemetry.deletion,
    sealing: telemetry.sealing,
    diskGuard: telemetry.diskGuard,
    eventDeletion: telemetry.events,
    databaseCheck,
    people,
    alerts,
    outbox,
    gate,
    backups,
    ownLocks: locks.ownLocks,
    retention: { telemetry: config.retentionDays, events: config.eventRetentionDays },
  })
  const dashboard = new Dashboard(
    overrides.dashboardDir === undefined
      ? programFolder('dist/dashboard')
      : diskFolder(overrides.dashboardDir),
    log,
  )
  const app = createApp({
    ...base,
    ...configuration,
    fleet,
    devices,
    deviceImport,
    commands,
    damage,
    presence,
    users,
    ...people,
    sync,
    metrics,
    mqtt: broker,
    enrolment,
    clockConfirmation,
    downloads: budgets.downloads,
    telemetry: telemetry.deletion,
    telemetryImport: telemetry.import,
    diskGuard: telemetry.diskGuard,
    fetchesGeofences: (name) => deviceTypes.find(name)?.downloadsZones === true,
    trips: new Trips(base),
    reports: new Reports({ ...base, site, geofences, rounds }),
    tracks: new Tracks({ store, downloads: budgets.downloads }),
    course,
    rounds,
    backups,
    origins,
    databaseCheck,
    site,
    recall,
    carts,
    visibleCarts,
    cartNotes,
    alerts,
    webhooks,
    notifiers,
    cartLocks: locks.cartLocks,
    zoneSwitches,
    machine,
    erasures: new Erasures(base),
    dashboard,
    addresses,
    corsOrigins: config.corsOrigins,
    authority: () => authorityCertificate(config),
    certificate: watched,
    plainHttp,
    takesPlainHttp: config.takesPlainHttp,
    publicUrl: config.publicUrl,
    startedAtMs,
    settings: describeSettings(),
    subscriptions: () => realtime.summary(),
    mqttConnections: config.mqttConnections,
    mqttAddresses: () => {
      const { mqtt: plain, mqtts } = addressesOf(config, http, mqtt)
      return reachableUrls(config.host, present(plain, mqtts))
    },
  })
  const opening = new Opening({ nowMs: () => clock.nowMs(), clockState: () => clockConfirmation.state })
  const upgradeToWebSocket = createUpgradeHandler({
    keyGuard,
    realtime,
    mqtt: mqtt.webSockets,
    addresses,
    plainHttp,
    log,
  })
  const http = new HttpListener(
    {
      host: config.host,
      port: config.httpPort,
      isSecure: config.tls !== undefined,
      drainMs: DRAIN_MS,
      takesPlain: config.takesPlainHttp,
      addresses,
      sockets: budgets.httpSockets,
      requestMs: REQUEST_MS,
      closed: budgets.refused,
    },
    (request, ...more) => (opening.isDone ? app.fetch(request, ...more) : opening.answer(request)),
    (request, socket, head) =>
      opening.isDone ? upgradeToWebSocket(request, socket, head) : opening.refuse(socket),
  )
  const door = new EarlyDoor({
    door: withPortFaults(http, 'CARTBARN_HTTP_PORT', HOST_SETTING),
    opening,
    store,
    log,
    onProgress: overrides.onUpgrade,
  })
  for (const server of [http, ...present(mqtt.tls)]) certificate?.secure(server)
  wireEvents({
    events,
    store,
    broker,
    users,
    damage,
    devices,
    carts,
    commands,
    origins,
    enrolment,
    groups,
    publisher,
  })

  const memory = {
    start: async () => {
      await enrolment.start()
      fleet.load(store.read, clock.latestEventMs(clock.nowMs()))
      const nouns = [site, course, webhooks, notifiers, persons, groups, geofences, deviceTypes, publisher]
      for (const part of [...nouns, damage, alerts]) part.load()
      for (const part of [locks.autoLock, locks.closing]) part.load()
      await geofenceTokens.load()
      devices.startDeletions()
    },
  }
  // stopped last to first: doors, then connections (whose last wills are stored), then what remains to be written
  const parts: Partial<Part>[] = [
    ...present<Part>(leafRenewal, certificate),
    dashboard,
    kernelSync,
    door.withStore,
    machine,
    ingest,
    clockMark,
    clockConfirmation,
    // told of the first beat of the carts
    users,
    sessions,
    memory,
    rounds,
    carts,
    // which may be waiting for its turn behind a long sealing: that ends first
    telemetry.retention,
    telemetry.eventRetention,
    telemetry.alertRetention,
    telemetry.diskGuard,
    telemetry.sealing,
    eventGrowth,
    outbox,
    delivery,
    recall,
    { stop: () => http.drain() },
    mqtt.connections,
    { start: () => broker.start(access), stop: () => broker.stop() },
    // the broker must know what it keeps before anything is published
    publisher,
    { start: () => groups.publishMissing() },
    zoneSwitches,
    zoneExempts,
    alerts,
    // its watchers are not told that all devices went offline when the gateway stops
    realtime,
    // devices are let in last: until then nothing was promised that going back would lose
    door,
    ...doors(mqtt),
    // whatever fails before has made no key that nobody would ever see
    firstAdminKey,
    databaseCheck,
    backups,
    // waits for nobody, and nobody for it
    ...present(sync),
  ]
  return {
    app,
    intents,
    disk: store,
    siteName: () => site.settings.name,
    identity: () => store.read.syncIdentity().epoch,
    start: () => startAll(parts),
    stop: () => stopAll(parts),
    addresses: () => addressesOf(config, http, mqtt),
    runRetention: async () => {
      for (const retention of [telemetry.retention, telemetry.eventRetention, telemetry.alertRetention])
        await retention.runOnce()
    },
    reloadCertificate: async () => {
      await leafRenewal?.runOnce()
      await certificate?.reload()
    },
    adminKeyFile: () => (firstAdminKey.isWaiting ? keyFile : null),
    setupCode: () => firstAdminKey.setupCode ?? null,
  }
}

function doors({ tcp, tls }: Mqtt): Part[] {
  return [
    ...(tcp === undefined ? [] : [withPortFaults(tcp, 'CARTBARN_MQTT_PORT', HOST_SETTING)]),
    ...(tls === undefined ? [] : [withPortFaults(tls, 'CARTBARN_MQTTS_PORT', HOST_SETTING)]),
  ]
}

function addressesOf({ host }: Config, http: HttpListener, mqtt: Mqtt): Addresses {
  const shown = shownHost(host)
  return {
    http: http.url,
    ...(mqtt.tcp === undefined ? {} : { mqtt: `mqtt://${shown}:${mqtt.tcp.port}` }),
    ...(mqtt.tls === undefined ? {} : { mqtts: `mqtts://${shown}:${mqtt.tls.port}` }),
  }
}

function present<T>(...parts: (T | undefined)[]): T[] {
  return parts.filter((part) => part !== undefined)
}
