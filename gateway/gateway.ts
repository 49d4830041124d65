import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Part, startAll, stopAll } from '../shared/lifecycle.ts'
import type { Log } from '../shared/log.ts'
import { countRows } from '../shared/mqtt-sessions.ts'
import { type Clock, type MonotonicClock, systemClock } from '../shared/time.ts'
import { createApp } from './api/app.ts'
import { Broker, type BrokerOptions } from './broker/broker.ts'
import { ReadGate } from './broker/read-gate.ts'
import { TcpListener } from './broker/tcp-listener.ts'
import { WebSocketListener } from './broker/websocket-listener.ts'
import type { Config } from './config.ts'
import { deviceTypes } from './devices/all.ts'
import { Events } from './events.ts'
import { createMetrics } from './metrics.ts'
import { Realtime } from './realtime/realtime.ts'
import { ClockMark } from './services/clock-mark.ts'
import { Devices } from './services/devices.ts'
import { Fleet } from './services/fleet.ts'
import { GatewayClock } from './services/gateway-clock.ts'
import { Ingest, type QueuedMessage } from './services/ingest.ts'
import { KeyGuard } from './services/key-guard.ts'
import { deviceOwner, MqttAccess, userOwner } from './services/mqtt-access.ts'
import { Presence } from './services/presence.ts'
import { isTimeSynchronized } from './services/time-sync.ts'
import { Users } from './services/users.ts'
import { Store } from './store/store.ts'
import { createUpgradeHandler } from './upgrades.ts'

/** A running gateway, or one that can be started. */
export interface Gateway extends Part {
  /** The app itself, for requests without a socket. */
  app: ReturnType<typeof createApp>
  /** Addresses in use, once started. */
  addresses(): { http: string; mqtt: string }
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
  const events = new Events(log)
  const store = new Store<QueuedMessage>(config, log)
  const clockMark = new ClockMark({ clock, store, log })
  const fleet = new Fleet()
  const users = new Users({ store, events, clock, log })
  const keyGuard = new KeyGuard(users, clock, config.requestsPerSecond)
  const presence = new Presence(events, clock)
  const devices = new Devices({ store, fleet, deviceTypes, events, clock, log })
  const { isLockEventStored } = store.read
  const ingest = new Ingest({ queue: store.queue, presence, events, isLockEventStored, clock, log })
  const access = new MqttAccess({
    fleet,
    devices,
    users,
    keyGuard,
    ingest,
    presence,
    clock,
    log,
    enrolmentKey: config.enrolmentKey,
    answer: (topic, payload) => broker.publish(topic, payload),
  })
  const gate = new ReadGate(() => store.queue.isFull)
  const broker = new Broker({
    port: access,
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
  })
  store.queue.setAppender(ingest)
  store.queue.setOnRoom(() => gate.open())
  events.on('deviceRegistered', ({ hardwareId }) => broker.claim(hardwareId, deviceOwner(hardwareId)))
  events.on('deviceRemoved', ({ hardwareId }) => broker.forget(hardwareId, `dev/${hardwareId}/`))
  events.on('keyRevoked', ({ userId }) => {
    if (users.has(userId)) broker.disconnectOwner(userOwner(userId))
    else broker.forgetOwner(userOwner(userId))
  })
  events.on('scopeChanged', ({ userId }) => broker.recheckOwner(userOwner(userId)))

  const tcp = new TcpListener(
    { host: config.host, port: config.mqttPort, maxConnections: config.mqttConnections },
    (stream, address) => broker.handle(stream, address),
    () => broker.refusals.counts.add('too_many_connections'),
  )
  const webSockets = new WebSocketListener(
    config.mqttPacketBytes,
    (stream, address, bufferedBytes, request) => {
      broker.handle(stream, address, bufferedBytes, request)
    },
  )
  const realtime = new Realtime({ events, fleet, callerOf: (userId) => users.callerOf(userId), log })
  const metrics = createMetrics({
    messages: ingest.messages,
    dropped: ingest.dropped,
    mqttRefused: broker.refusals.counts,
    keysRefused: keyGuard.refused,
    realtime: realtime.counts,
    gauges: {
      cartbarn_devices: { help: 'Registered devices.', read: () => fleet.size },
      cartbarn_mqtt_clients: { help: 'MQTT clients connected.', read: () => broker.connectedClients },
      cartbarn_mqtt_clients_waiting: {
        help: 'MQTT connections waiting to be read.',
        read: () => gate.waitingConnections,
      },
      cartbarn_realtime_connections: { help: 'Clients of /realtime.', read: () => realtime.connectionCount },
      cartbarn_write_queue_rows: { help: 'Rows waiting for the disk.', read: () => store.queue.waitingRows },
      cartbarn_store_usable: {
        help: '1 while the store can be written.',
        read: () => Number(store.health.isUsable),
      },
      cartbarn_clock_trusted: {
        help: '1 while the clock is set; 0 while times are a guess.',
        read: () => Number(clock.isTrusted),
      },
    },
  })
  const app = createApp({
    store,
    fleet,
    devices,
    presence,
    users,
    keyGuard,
    clock,
    log,
    corsOrigins: config.corsOrigins,
    subscriptions: () => realtime.summary(),
    metrics,
  })
  const http = new HttpListener(
    config,
    app.fetch,
    createUpgradeHandler({
      keyGuard,
      acceptRealtime: (request, socket, head, caller) => realtime.accept(request, socket, head, caller),
      acceptMqtt: (request, socket, head) => webSockets.upgrade(request, socket, head),
      log,
    }),
  )

  let newAdminKey: string | null = null
  const memory: Part = {
    start: async () => {
      fleet.load(store.read, clock.latestEventMs(clock.nowMs()))
      newAdminKey = await users.ensureAdmin(config.adminApiKey)
      devices.startDeletions()
    },
    stop: async () => undefined,
  }
  const requests: Part = { start: async () => undefined, stop: () => http.drain() }
  // stopped last to first: doors, then connections (whose last wills are stored), then what remains to be written
  const parts: Part[] = [store, clockMark, users, memory, requests, realtime, broker, tcp, http]
  return {
    app,
    start: () => startAll(parts),
    stop: () => stopAll(parts),
    addresses: () => ({
      http: `http://${shownHost(config.host)}:${http.port}`,
      mqtt: `mqtt://${shownHost(config.host)}:${tcp.port}`,
    }),
    takeNewAdminKey: () => {
      const key = newAdminKey
      newAdminKey = null
      return key
    },
  }
}

function brokerOptions(config: Config): BrokerOptions {
  return {
    maxPayloadBytes: config.mqttPacketBytes,
    maxUnreadBytes: config.mqttSlowReaderBytes,
    maxSubscriptions: config.mqttSubscriptions,
    maxTopicLevels: config.mqttTopicLevels,
    connectTimeoutMs: config.mqttConnectTimeoutS * 1000,
    maxReceiving: config.mqttInFlight,
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

const DRAIN_MS = 1_000

/** Listens for HTTP and hands upgrade requests on. */
class HttpListener implements Part {
  readonly #config: Config
  readonly #server: Server
  #closed: Promise<void> = Promise.resolve()

  constructor(
    config: Config,
    fetch: ReturnType<typeof createApp>['fetch'],
    onUpgrade: ReturnType<typeof createUpgradeHandler>,
  ) {
    this.#config = config
    // createAdaptorServer makes an HTTP/1 server unless told otherwise
    this.#server = createAdaptorServer({ fetch }) as Server
    this.#server.on('upgrade', onUpgrade)
  }

  /** Throws when the port cannot be had. */
  async start(): Promise<void> {
    this.#server.listen({ port: this.#config.httpPort, host: this.#config.host, backlog: 1024 })
    await once(this.#server, 'listening')
  }

  /** Takes no more requests; those under way go on until `drain`. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    this.#closed = new Promise((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
  }

  /** Waits for requests under way, for a while; WebSockets must have been closed before. */
  async drain(): Promise<void> {
    const cutOff = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS)
    await Promise.race([this.#closed, new Promise((resolve) => setTimeout(resolve, 2 * DRAIN_MS).unref())])
    clearTimeout(cutOff)
  }

  get port(): number {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('not listening')
    return address.port
  }
}

function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
