import type { Counter } from '#shared/counter.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { MqttClientName, MqttClientStatus, MqttFlow, MqttStats } from '#shared/mqtt-status.ts'
import { readVersion } from '#shared/version.ts'
import { givenClientId } from '../client-ids.ts'
import type { Connection } from '../connection.ts'
import type { Session } from '../mqtt-sessions/session.ts'
import type { Sessions } from '../mqtt-sessions/sessions.ts'
import type { Meter } from '../rate-meter.ts'
import type { ReadGate } from '../read-gate.ts'
import { Traffic } from '../traffic.ts'

interface BrokerStatusDeps {
  sessions: Sessions
  refused: Counter
  gate: ReadGate
  connections: ReadonlySet<Connection<unknown>>
  connectionOf: (clientId: string) => Connection<unknown> | undefined
  loggedIn: () => number
  queueLimits: { messages: number; bytes: number }
}

const SAMPLE_MS = 5_000

/** Status of the broker and of each of its clients: computed on request, from counters that exist anyway. */
export class BrokerStatus implements Component {
  readonly received: Traffic
  readonly sent: Traffic
  readonly version = readVersion()
  readonly #deps: BrokerStatusDeps
  readonly #startedAtMs: number
  #sampledAtMs: number
  #maximum = 0
  #timer: NodeJS.Timeout | undefined

  constructor(deps: BrokerStatusDeps) {
    this.#deps = deps
    this.#startedAtMs = performance.now()
    this.#sampledAtMs = this.#startedAtMs
    this.received = new Traffic(this.#startedAtMs)
    this.sent = new Traffic(this.#startedAtMs)
  }

  /** Starts to sample the counters: one timer for all clients. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  clientAdded(): void {
    this.#maximum = Math.max(this.#maximum, this.#deps.loggedIn())
  }

  /** Returns every connection that is logged in, and every session without one. */
  clients(): MqttClientName[] {
    const named = new Map<string, MqttClientName>()
    for (const session of this.#deps.sessions.all()) {
      if (session.connection === undefined) named.set(session.clientId, nameOf(session, false))
    }
    for (const connection of this.#deps.connections) {
      if (isEntered(connection)) {
        const { session } = connection.identity
        named.set(session.clientId, nameOf(session, true))
      }
    }
    return [...named.values()]
  }

  /** Returns the client with this `key` in its name. */
  client(key: string): MqttClientStatus | undefined {
    const nowMs = performance.now()
    const connection = this.#deps.connectionOf(key)
    if (connection !== undefined && isEntered(connection))
      return describeClient(connection.identity.session, connection, nowMs)
    const session = this.#deps.sessions.get(key)
    return session && describeClient(session, undefined, nowMs)
  }

  stats(): MqttStats {
    const { sessions, refused, gate, connections, loggedIn, queueLimits } = this.#deps
    const nowMs = performance.now()
    const byTransport = { tcp: 0, tls: 0, websocket: 0 }
    for (const { transport } of connections) byTransport[transport]++
    let away = 0
    for (const { connection } of sessions.all()) if (connection === undefined) away++
    return {
      version: this.version,
      uptimeS: Math.floor((nowMs - this.#startedAtMs) / 1000),
      connections: {
        open: connections.size,
        loggedIn: loggedIn(),
        maximum: this.#maximum,
        byTransport,
      },
      sessions: { kept: sessions.count, away },
      subscriptions: sessions.allSubscriptionCount,
      retained: { messages: sessions.retained.size, bytes: sessions.retained.byteCount },
      queued: { messages: sessions.queued.messages, bytes: sessions.queued.bytes, limits: queueLimits },
      received: this.received.read(nowMs),
      sent: this.sent.read(nowMs),
      refused: Object.fromEntries(refused.entries()),
      dropped: Object.fromEntries(sessions.dropped.entries()),
      waitingConnections: gate.waitingConnections,
    }
  }

  #sample(): void {
    const nowMs = performance.now()
    const sinceLastMs = nowMs - this.#sampledAtMs
    this.#sampledAtMs = nowMs
    for (const { received, sent } of this.#deps.connections) {
      received.sample(nowMs)
      sent.sample(nowMs)
    }
    this.received.sample(nowMs, sinceLastMs)
    this.sent.sample(nowMs, sinceLastMs)
  }
}

function nameOf({ clientId, owner }: Session, isConnected: boolean): MqttClientName {
  return { key: clientId, clientId: givenClientId(clientId), owner, isConnected }
}

type Entered = Connection<unknown> & { identity: NonNullable<Connection<unknown>['identity']> }

/** True if a connection is logged in and no other has replaced it. */
function isEntered(connection: Connection<unknown>): connection is Entered {
  return connection.identity?.session.connection === connection
}

function describeClient(
  session: Session,
  connection: Connection<unknown> | undefined,
  nowMs: number,
): MqttClientStatus {
  const { clientId, owner, outbox, isPersistent, subscriptions, idleHours } = session
  return {
    clientId: givenClientId(clientId),
    owner,
    cleanSession: !isPersistent,
    subscriptions: Array.from(subscriptions.values(), ({ topicFilter, qos }) => ({ topicFilter, qos })),
    queue: {
      messages: outbox.messageCount,
      bytes: outbox.byteCount,
      // messages that the last connection did not acknowledge are no longer in flight
      inFlight: connection === undefined ? 0 : outbox.inFlightCount,
      dropped: outbox.droppedCount,
    },
    idleHours: connection === undefined ? idleHours : null,
    connection: connection === undefined ? null : describeConnection(connection, nowMs),
  }
}

function describeConnection(
  connection: Connection<unknown>,
  nowMs: number,
): NonNullable<MqttClientStatus['connection']> {
  const { client, address, transport, connectedAtMs, keepaliveS, received, sent } = connection
  return {
    address,
    transport,
    // known since CONNECT; Aedes accepts no other
    protocolVersion: client.version ?? 4,
    sinceMs: connectedAtMs,
    keepaliveS,
    received: flowOf(received, nowMs),
    sent: flowOf(sent, nowMs),
    unreadBytes: connection.unreadBytes,
    skipped: connection.skipped,
    throttled: connection.throttled,
  }
}

function flowOf(meter: Meter, nowMs: number): MqttFlow {
  const { messages, bytes } = meter
  return { messages, bytes, perSecond: meter.perSecond(nowMs) }
}
