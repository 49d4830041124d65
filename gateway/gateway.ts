import type { Duplex } from 'node:stream'
import { SyncAgent } from '#agent/agent.ts'
import { createApp } from '#api/app.ts'
import { toDeviceJson } from '#api/device-json.ts'
import { Broker, type BrokerOptions, type NetworkOptions } from '#broker/broker.ts'
import { Connections } from '#broker/listeners/admission.ts'
import { TcpListener } from '#broker/listeners/tcp.ts'
import { TlsListener } from '#broker/listeners/tls.ts'
import { WebSocketListener } from '#broker/listeners/websocket.ts'
import { ReadGate } from '#broker/read-gate.ts'
import { deviceTypes as builtInDeviceTypes } from '#devices/all.ts'
import { countRows } from '#domain/mqtt-sessions.ts'
import { Certificate } from '#gateway/http/certificate.ts'
import { HttpListener } from '#gateway/http/listener.ts'
import { createUpgradeHandler } from '#gateway/http/upgrades.ts'
import { Realtime } from '#realtime/realtime.ts'
import { GatewayClock } from '#services/clock/gateway-clock.ts'
import { ClockMark } from '#services/clock/mark.ts'
import { isTimeSynchronized } from '#services/clock/time-sync.ts'
import { Commands } from '#services/commands/commands.ts'
import { CommandDelivery } from '#services/commands/delivery.ts'
import { ConfigLayers } from '#services/config-layers.ts'
import { ConfigPublisher } from '#services/config-publisher.ts'
import { DeviceConfigs } from '#services/device-configs.ts'
import { DeviceTypes } from '#services/device-types.ts'
import { Devices } from '#services/devices.ts'
import type { Downlink } from '#services/downlink.ts'
import { Fleet } from '#services/fleet.ts'
import { GeofenceTokens } from '#services/geofence-tokens.ts'
import { Geofences } from '#services/geofences.ts'
import { Groups } from '#services/groups.ts'
import { Ingest } from '#services/ingest/ingest.ts'
import type { QueuedMessage } from '#services/ingest/message.ts'
import { KeyGuard } from '#services/key-guard.ts'
import { deviceOwner, MqttAccess, userOwner } from '#services/mqtt-access.ts'
import { Presence } from '#services/presence.ts'
import { IntentInbox } from '#services/replication/intent-inbox.ts'
import { LatestStates } from '#services/replication/latest-states.ts'
import { SyncSource } from '#services/replication/source.ts'
import { BlockDamage } from '#services/telemetry/block-damage.ts'
import { Telemetry } from '#services/telemetry/deletion.ts'
import { DiskGuard } from '#services/telemetry/disk-guard.ts'
import { TelemetryImport } from '#services/telemetry/import.ts'
import { Retention } from '#services/telemetry/retention.ts'
import { Sealing } from '#services/telemetry/sealing.ts'
import { Trips } from '#services/trips.ts'
import { Users } from '#services/users.ts'
import { type Part, startAll, stopAll } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { MqttTransport } from '#shared/mqtt-status.ts'
import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'
import { Turns } from '#shared/turns.ts'
import { readVersion } from '#shared/version.ts'
import { Store } from '#store/store.ts'
import type { Config } from './config.ts'
import { Events } from './events.ts'
import { createMetrics } from './metrics.ts'

/** A running gateway, or one that can be started. */
export interface Gateway extends Part {
  /** The app itself, for requests without a socket. */
  app: ReturnType<typeof createApp>
  /** Where wishes of the head office come in. */
  intents: IntentInbox
  /** Addresses in use, once started. */
  addresses(): { http: string; mqtt?: string; mqtts?: string }
  /** Reads the certificate again, if there is one, without waiting until the change is noticed. */
  reloadCertificate(): Promise<void>
  /** The first admin's key, if this start made one up: to be shown once and forgotten. */
  takeNewAdminKey(): string | null
}

export interface Overrides {
  /** Stands for the system's clocks. */
  clock?: Clock & MonotonicClock
  /** Stands for what the system says of its clock. */
  isTimeSynchronized?: () => boolean
}

/** Builds a gateway: every part, and who knows whom. */
export function createGateway(config: Config, log: Log, overrides: Overrides = {}): Gateway {
  const clock = new GatewayClock({
    system: overrides.clock ?? systemClock,
    isSynchronized: overrides.isTimeSynchronized ?? isTimeSynchronized,
  })
  const hasUpstream = config.upstream !== undefined
  const events = new Events(log)
  const store = new Store<QueuedMessage>(config, log)
  const clockMark = new ClockMark({ clock, store, log })
  const fleet = new Fleet()
  const users = new Users({ store, events, clock, log })
  const keyGuard = new KeyGuard(users, clock, config.requestsPerSecond)
  const presence = new Presence(events, clock)
  const downlink: Downlink = {
    prepare: (message) => broker.prepare(message),
    send: (hardwareId, topic, payload) => broker.send(hardwareId, topic, payload),
  }
  const geofences = new Geofences({ store, downlink, clock })
  const geofenceTokens = new GeofenceTokens({ store, fleet, geofences, clock })
  const layers = new ConfigLayers()
  const publisher = new ConfigPublisher({ store, fleet, layers, downlink, clock, log })
  const groups = new Groups({ store, fleet, geofences, layers, publisher, clock, log })
  const deviceTypes = new DeviceTypes({ builtIn: builtInDeviceTypes, store, fleet, layers, publisher })
  const deviceConfigs = new DeviceConfigs({ store, groups, deviceTypes, layers, publisher })
  const maintenance = new Turns()
  const damage = new BlockDamage({ store, maintenance, clock, log })
  const devices = new Devices({
    ...{ store, fleet, groups, deviceTypes, publisher, damage, maintenance },
    ...{ events, clock, log },
  })
  const sealing = new Sealing({
    ...{ store, fleet, maintenance, clock, log },
    onUnreadable: (blocks) => damage.judge(blocks),
    onSetAside: () => damage.load(),
    minSamples: config.sealSamples,
    acknowledgedThrough: () => (hasUpstream ? store.read.syncCursors().telemetry.seq : null),
  })
  const telemetry = new Telemetry({
    ...{ store, fleet, sealing, damage, maintenance, clock, log },
    hasUpstream,
  })
  const { queue } = store
  const mayLack = () => sync?.mayLack === true
  const retention = new Retention({
    ...{ telemetry, fleet, queue, clock, log, mayLack },
    days: config.retentionDays,
  })
  const diskGuard = new DiskGuard({
    ...{ store, maintenance, clock, log, dataDir: config.dataDir, budget: config.diskBudget },
    ...{ hasUpstream, mayLack },
  })
  const trips = new Trips({ store, clock })
  const telemetryImport = new TelemetryImport({ store, clock, log })
  const { isLockEventStored } = store.read
  const ingest = new Ingest({
    queue: store.queue,
    presence,
    events,
    isLockEventStored,
    geofences,
    clock,
    log,
  })
  const access = new MqttAccess({
    fleet,
    devices,
    users,
    keyGuard,
    ingest,
    presence,
    events,
    clock,
    log,
    enrolmentKey: config.enrolmentKey,
    answer: (topic, payload) => broker.publish(topic, payload),
  })
  const gate = new ReadGate(() => store.queue.isFull)
  const connections = new Connections({
    total: config.mqttConnections,
    perAddress: config.mqttConnectionsPerAddress,
    failedLoginsPerSecond: config.mqttFailedLoginsPerSecond,
  })
  const broker = new Broker({
    journal: {
      load: () => store.read.mqttSessions(),
      append: (sessionChanges, onStored, onRefused) => {
        const rows = Math.max(1, countRows(sessionChanges))
        store.queue.append({ rows, sessionChanges, onStored, onRefused })
      },
    },
    gate,
    options: brokerOptions(config),
    clock,
    log,
    onLoginFailed: (address) => connections.loginFailed(address),
  })
  const turns = new Turns()
  const delivery = new CommandDelivery({ store, downlink: broker, events, clock, turns, log })
  const commands = new Commands({
    store,
    fleet,
    deviceTypes,
    delivery,
    turns,
    downloadFor: (device) => geofenceTokens.tokenFor(device),
    clock,
  })
  const intents = new IntentInbox({
    ...{ store, fleet, groups, deviceConfigs, geofences, commands, users, clock, log },
    onResend: (wanted) => void sync?.audit(wanted),
  })
  const sync =
    config.upstream === undefined
      ? undefined
      : new SyncAgent({
          source: new SyncSource({ store, damage, maintenance, clock, monotonic: clock, log }),
          inbox: intents,
          latest: new LatestStates({ fleet, events, toDeviceJson }),
          upstream: config.upstream,
          site: config.upstream.siteId,
          holdMs: config.upstream.holdMs,
          longestBackoffMs: config.upstream.longestBackoffMs,
          dataDir: config.dataDir,
          program: readVersion(),
          ...{ clock, log },
          isBusy: () => store.queue.waitingRows > BUSY_ROWS,
        })
  events.on('lockChanged', () => sync?.wake())
  events.on('zoneCrossed', () => sync?.wake())
  store.on('unreadable', (blocks) => damage.report(blocks))
  store.queue.on('room', () => gate.open())
  events.on('deviceRegistered', ({ hardwareId }) => broker.claim(hardwareId, deviceOwner(hardwareId)))
  events.on('deviceRemoved', ({ hardwareId }) => broker.forget(hardwareId, `dev/${hardwareId}/`))
  events.on('groupChanged', ({ hardwareId }) => broker.recheckOwner(deviceOwner(hardwareId)))
  events.on('keyRevoked', ({ userId }) => {
    if (users.has(userId)) broker.disconnectOwner(userOwner(userId))
    else broker.forgetOwner(userOwner(userId))
  })
  events.on('scopeChanged', ({ userId }) => broker.recheckOwner(userOwner(userId)))
  store.queue.on('usable', () => {
    devices.startDeletions()
    void groups.publishMissing()
    void publisher.publishDifferences()
  })

  const { host } = config
  const mqttDoor = (transport: MqttTransport) => ({
    onConnection: (stream: Duplex, address: string, network: NetworkOptions = {}) =>
      broker.handle(stream, address, { ...network, transport }),
    onHandshakeFailed: (address: string, cause: string) => {
      broker.refusals.add('tls_handshake', { address, cause })
      connections.loginFailed(address)
    },
    onDropped: (reason: string, address: string) => broker.refusals.add(reason, { address }),
  })
  const tcp =
    config.mqttPort === undefined
      ? undefined
      : new TcpListener({ host, port: config.mqttPort, connections }, mqttDoor('tcp'))
  const tls =
    config.mqttsPort === undefined
      ? undefined
      : new TlsListener({ host, port: config.mqttsPort, connections }, mqttDoor('tls'))
  const webSockets = new WebSocketListener(config.mqttPacketBytes, connections, mqttDoor('websocket'))
  const realtime = new Realtime({
    events,
    fleet,
    commands,
    callerOf: (userId) => users.callerOf(userId),
    log,
  })
  const metrics = createMetrics({
    ...{ ingest, delivery, keyGuard, realtime, broker, store, damage, telemetry, sealing, diskGuard },
    ...{ fleet, clock, sync, certificate: () => certificate },
  })
  const app = createApp({
    store,
    fleet,
    devices,
    commands,
    groups,
    geofences,
    geofenceTokens,
    fetchesGeofences: (name) => Object.hasOwn(deviceTypes.find(name)?.commands ?? {}, 'fetch_geofences'),
    deviceTypes,
    deviceConfigs,
    telemetry,
    damage,
    diskGuard,
    trips,
    telemetryImport,
    presence,
    users,
    keyGuard,
    sync,
    clock,
    log,
    corsOrigins: config.corsOrigins,
    subscriptions: () => realtime.summary(),
    metrics,
    mqtt: {
      connectionLimit: config.mqttConnections,
      clientIds: () => broker.status.clientIds(),
      client: (clientId) => broker.status.client(clientId),
      removeClient: (clientId) => broker.removeClient(clientId),
      stats: () => broker.status.stats(),
    },
  })
  const http = new HttpListener(
    { host, port: config.httpPort, isSecure: config.tls !== undefined },
    app.fetch,
    createUpgradeHandler({
      keyGuard,
      acceptRealtime: (request, socket, head, caller) => realtime.accept(request, socket, head, caller),
      acceptMqtt: (request, socket, head) => webSockets.upgrade(request, socket, head),
      log,
    }),
  )
  const certificate =
    config.tls === undefined ? undefined : new Certificate(config.tls, [http, ...present(tls)], clock, log)

  let newAdminKey: string | null = null
  const memory: Part = {
    start: async () => {
      fleet.load(store.read, clock.latestEventMs(clock.nowMs()))
      groups.load()
      geofences.load()
      await geofenceTokens.load()
      deviceTypes.load()
      publisher.load()
      damage.load()
      newAdminKey = await users.ensureAdmin(config.adminApiKey)
      devices.startDeletions()
    },
    stop: async () => undefined,
  }
  // the broker must know what it keeps before anything is published
  const unpublished: Part = { start: () => groups.publishMissing(), stop: async () => undefined }
  const requests: Part = { start: async () => undefined, stop: () => http.drain() }
  // stopped last to first: doors, then connections (whose last wills are stored), then what remains to be written
  const parts: Part[] = [
    ...present(certificate),
    ...[
      store,
      ingest,
      clockMark,
      users,
      memory,
      // which may be waiting for its turn behind a long sealing: that ends first
      retention,
      diskGuard,
      sealing,
      delivery,
      requests,
      realtime,
      connections,
      { start: () => broker.start(access), stop: () => broker.stop() },
    ],
    ...[publisher, unpublished],
    ...present<Part>(tcp, tls),
    http,
    // waits for nobody, and nobody for it
    ...present(sync),
  ]
  return {
    app,
    intents,
    start: () => startAll(parts),
    stop: () => stopAll(parts),
    addresses: () => ({
      http: `${config.tls === undefined ? 'http' : 'https'}://${shownHost(host)}:${http.port}`,
      ...(tcp === undefined ? {} : { mqtt: `mqtt://${shownHost(host)}:${tcp.port}` }),
      ...(tls === undefined ? {} : { mqtts: `mqtts://${shownHost(host)}:${tls.port}` }),
    }),
    reloadCertificate: async () => certificate?.reload(),
    takeNewAdminKey: () => {
      const key = newAdminKey
      newAdminKey = null
      return key
    },
  }
}

/** With so many rows waiting for the disk a backlog for the head office can wait too. */
const BUSY_ROWS = 200

/** QoS 2 messages a client may publish without releasing one, in windows of what it may be sent. */
const RECEIVING_WINDOWS = 10

function brokerOptions(config: Config): BrokerOptions {
  return {
    maxPayloadBytes: config.mqttPacketBytes,
    maxUnreadBytes: config.mqttSlowReaderBytes,
    maxSubscriptions: config.mqttSubscriptions,
    messagesPerSecond: config.mqttMessagesPerSecond,
    maxTopicLevels: config.mqttTopicLevels,
    connectTimeoutMs: config.mqttConnectTimeoutS * 1000,
    // a client need not wait for PUBREC before it publishes more, and most do not
    maxReceiving: RECEIVING_WINDOWS * config.mqttInFlight,
    sessions: {
      outbox: {
        inFlight: config.mqttInFlight,
        messages: config.mqttQueueMessages,
        bytes: config.mqttQueueBytes,
      },
      queued: { messages: config.mqttQueuesMessages, bytes: config.mqttQueuesBytes },
      retained: { messages: config.mqttRetainedMessages, bytes: config.mqttRetainedBytes },
      expiryDays: config.mqttSessionDays,
    },
  }
}

function present<T>(...parts: (T | undefined)[]): T[] {
  return parts.filter((part) => part !== undefined)
}

function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
