// must precede all imports that load mqtt-packet
import './light-mqtt-packet.ts'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Aedes, type Client, type PublishPacket, type Subscription } from 'aedes'
import type { BrokerPort } from '#domain/broker-port.ts'
import type { Downlink } from '#domain/downlink.ts'
import type { StoredWill } from '#domain/mqtt-sessions.ts'
import type { Log } from '#shared/log.ts'
import type { MqttTransport } from '#shared/mqtt-status.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import {
  connectedClient,
  deliverRetainedWith,
  isWillOf,
  NO_EMITTER,
  publishOnlySys,
  registerByIdentity,
  searchNoWills,
  setConnectTimeout,
  subscriptionsOf,
  writeNumbersUncached,
} from './aedes-internals.ts'
import { givenClientId } from './client-ids.ts'
import { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import { Delivery, type LiveMessage } from './delivery.ts'
import { FastLane, readInFrontOf } from './fast-lane.ts'
import { takeOver } from './id-contest.ts'
import { Intake } from './intake.ts'
import { type BrokerBudgets, limitOf } from './limits.ts'
import { Logins } from './login.ts'
import { BrokerPersistence, SESSION_MARK } from './mqtt-sessions/broker-persistence.ts'
import type { Session } from './mqtt-sessions/session.ts'
import { type RoutedMessage, type SessionJournal, type SessionLimits, Sessions } from './mqtt-sessions/sessions.ts'
import { guardPacketSize, guardProtocol } from './protocol-guard.ts'
import { acknowledgeWhenStored } from './puback.ts'
import type { ReadGate } from './read-gate.ts'
import { closePreviousSession } from './session-takeover.ts'
import { BrokerStatus } from './status/broker-status.ts'
import { printable, Refusals } from './status/refusals.ts'
import { SysTopics } from './status/sys-topics.ts'
import { refuseSubscription } from './subscription-right.ts'

export interface BrokerOptions {
  maxPayloadBytes: number
  /** Limit of unread bytes; the connection of a slower client is closed. */
  maxUnreadBytes: number
  maxSubscriptions: number
  maxTopicLevels: number
  /** True if telemetry is read without Aedes where the result is the same; false only in tests that prove this. */
  hasFastLane: boolean
  connectTimeoutMs: number
  /** Maximum number of QoS 2 messages received from a client and not released. */
  maxReceiving: number
  sessions: SessionLimits
}

export interface NetworkOptions {
  transport?: MqttTransport
  /** Returns the bytes written but not yet sent by the network, in addition to those of the stream. */
  bufferedBytes?: () => number
  /** Request that was upgraded to a WebSocket. */
  request?: IncomingMessage
  onLoggedIn?: () => void
  /** Called when a login has failed; returns the delay of the response in ms. */
  onLoginFailed?: (userName: string | undefined) => number
}

/** Maximum random addition to the timeout of CONNECT, as a share. */
const CONNECT_SPREAD = 0.2
/** Limit of packets that a client may send after CONNECT without waiting: as many as one read of a socket can hold. */
const PACKETS_BEHIND_CONNECT = 16_384

/**
 * MQTT broker. Aedes implements the protocol; this class decides which messages are stored for which clients, in which
 * order they are sent and when they may be acknowledged. It does not know devices and users, and asks its port.
 */
export class Broker<Login> implements Downlink {
  readonly refusals: Refusals
  readonly sessions: Sessions
  readonly status: BrokerStatus
  readonly #options: BrokerOptions
  readonly #budgets: BrokerBudgets
  readonly #connections: Connections<Login>
  readonly #gate: ReadGate
  readonly #clock: Clock & MonotonicClock
  readonly #log: Log
  readonly #persistence: BrokerPersistence
  readonly #intake: Intake<Login>
  readonly #delivery: Delivery
  readonly #sysTopics: SysTopics
  readonly #aedes: Aedes
  #served: BrokerPort<Login> | undefined
  #isStarted = false

  constructor(deps: {
    journal: SessionJournal
    gate: ReadGate
    options: BrokerOptions
    budgets: BrokerBudgets
    clock: Clock & MonotonicClock
    log: Log
  }) {
    this.#gate = deps.gate
    this.#options = deps.options
    this.#budgets = deps.budgets
    this.#clock = deps.clock
    this.#log = deps.log
    this.refusals = new Refusals(deps.log)
    this.sessions = new Sessions(deps.journal, deps.options.sessions)
    this.#connections = new Connections({
      sessions: this.sessions,
      budgets: deps.budgets,
      port: () => this.#port,
      connectedClient: (clientId) => connectedClient(this.#aedes, clientId),
      refusals: this.refusals,
    })
    const logins = new Logins({
      connections: this.#connections,
      sessions: this.sessions,
      port: () => this.#port,
      refused: this.refusals.counts,
      maxTopicLevels: deps.options.maxTopicLevels,
      closePreviousSession: (successor, done) =>
        closePreviousSession(this.#aedes, successor.client.id, done, (predecessor) =>
          this.#takenOver(this.#connections.of(predecessor), successor),
        ),
    })
    this.status = new BrokerStatus({
      sessions: this.sessions,
      refused: this.refusals.counts,
      gate: deps.gate,
      connections: this.#connections.open,
      connectionOf: (clientId) => this.#connections.withClientId(clientId),
      loggedIn: () => this.connectedClients,
      queueLimits: deps.options.sessions.queued,
    })
    this.#sysTopics = new SysTopics(
      this.status,
      (topic) => this.#subscribersOf(topic).size > 0,
      (topic, payload) => this.publish(topic, payload),
    )
    this.#persistence = new BrokerPersistence(this.sessions, {
      sessionOf: (client) => this.#connections.identityOf(client)?.session ?? this.sessions.get(client.id),
      isGranted: (client, topicFilter) => this.#connections.of(client)?.granted.has(topicFilter) ?? false,
      sysMessages: (topicFilters) => this.#sysTopics.matching(topicFilters),
    })
    this.#intake = new Intake({
      port: () => this.#port,
      journal: deps.journal,
      sessions: this.sessions,
      options: deps.options,
      deliver: (message) => this.#deliver(message),
    })
    this.#delivery = new Delivery(this.sessions, this.refusals.counts)
    this.#aedes = new Aedes({
      mq: NO_EMITTER,
      concurrency: 0,
      connectTimeout: deps.options.connectTimeoutMs,
      maxTopicLevels: deps.options.maxTopicLevels,
      queueLimit: PACKETS_BEHIND_CONNECT,
      // this broker counts QoS 2 messages when it receives them
      maxInflightInbound: 0,
      persistence: this.#persistence,
      preConnect: (client, packet, done) => logins.begin(client, packet, done),
      authenticate: (client, username, password, done) => logins.decide(client, username, password, done),
      authorizePublish: (client, packet, done) => this.#receive(client, packet, done),
      authorizeSubscribe: (client, subscription, done) => {
        // null makes Aedes return code 128 for this topic filter [MQTT-3.9.3-2]
        done(null, this.#subscribe(client, subscription) ? subscription : null)
      },
    })
  }

  /** Accepts connections from now on; `port` decides on permissions, and receives what devices send. */
  async start(port: BrokerPort<Login>): Promise<void> {
    this.#served = port
    writeNumbersUncached()
    publishOnlySys(this.#aedes, (packet) => this.#deliver(packet))
    registerByIdentity(this.#aedes)
    this.#aedes.on('client', (client) => this.#registered(client))
    this.#aedes.on('clientReady', (client) => this.#ready(client))
    this.#aedes.on('clientDisconnect', (client) => this.#disconnected(client))
    this.#aedes.on('subscribe', (subscriptions, client) => {
      this.#announce(
        client,
        subscriptions.filter(({ qos }) => qos <= 2).map(({ topic }) => topic),
      )
    })
    this.#aedes.on('unsubscribe', (topicFilters, client) => this.#unsubscribed(client, topicFilters))
    this.#aedes.on('connectionError', (client, error) => this.#note(client, error))
    this.#aedes.on('clientError', (client, error) => this.#note(client, error))
    this.#aedes.on('keepaliveTimeout', () => this.refusals.counts.add('keepalive_timeout'))
    // without a listener, this event ends the process
    this.#aedes.addListener('error', (error: Error) =>
      this.#log.error({ reason: error.message }, 'the MQTT broker reported an error'),
    )
    await this.sessions.start()
    await this.#aedes.listen()
    searchNoWills(this.#aedes)
    this.#isStarted = true
    await this.status.start()
    await this.#sysTopics.start()
    for (const will of [...this.sessions.wills.values()]) this.#publishOrphan(will)
  }

  /** Closes every connection; their wills are passed to the port as usual. */
  async stop(): Promise<void> {
    if (!this.#isStarted) return
    this.#isStarted = false
    await this.#sysTopics.stop()
    await this.status.stop()
    await new Promise<void>((resolve) => this.#aedes.close(resolve))
    await this.sessions.stop()
  }

  /** Takes over a network connection for MQTT. */
  handle(stream: Duplex, address: string, network: NetworkOptions = {}): void {
    const { transport = 'tcp', bufferedBytes = () => 0, request } = network
    const { onLoggedIn = () => undefined, onLoginFailed = () => 0 } = network
    if (!this.#isStarted) {
      stream.destroy()
      return
    }
    let connection: Connection<Login> | undefined
    this.#gate.guard(stream, () => (connection === undefined ? 0 : this.#connections.throttleMs(connection)))
    // connections that came together do not all end together
    setConnectTimeout(this.#aedes, this.#options.connectTimeoutMs * (1 + CONNECT_SPREAD * Math.random()))
    const client = this.#aedes.handle(stream, request)
    if (this.#options.hasFastLane) readInFrontOf(client, () => lane)
    connection = new Connection<Login>(client, {
      address,
      transport,
      monotonicMs: () => this.#clock.monotonicMs(),
      traffic: this.status,
      bufferedBytes,
      onLoggedIn,
      onLoginFailed,
      maxUnreadBytes: this.#options.maxUnreadBytes,
      onCut: () => this.#connections.refuse(client, 'slow_reader_cut'),
    })
    const lane = new FastLane(connection, {
      port: () => this.#port,
      sessions: this.sessions,
      budgets: this.#budgets,
      maxPayloadBytes: this.#options.maxPayloadBytes,
      deliver: (message) => this.#deliver(message),
      refuse: (refused, reason, topic) => this.#connections.refuse(refused, reason, topic),
    })
    connection.connectedAtMs = this.#clock.nowMs()
    this.#connections.add(connection)
    stream.once('close', () => this.#connections.over(connection))
    deliverRetainedWith(client, (packet, done) => {
      const { identity } = connection
      const isMeant = identity !== undefined && this.#port.canRead(identity.owner, packet.topic)
      if (isMeant && connection.isReady) this.#delivery.retained(connection, identity.session, packet, done)
      else done()
    })
    guardPacketSize(client, this.#options.maxPayloadBytes, () => this.#connections.refuse(client, 'packet_too_large'))
    guardProtocol(client, {
      isExpected: (type, packetId) =>
        connection.identity?.session.outbox.isExpected(connection, type, packetId) ?? true,
      onViolation: () => this.#connections.refuse(client, 'protocol_violation'),
      onUnsupported: (clientId = '') => {
        const advice = 'set the MQTT version of this client to 3.1.1'
        this.refusals.add('unsupported_protocol', { address, clientId: printable(clientId), advice })
      },
    })
  }

  get connectedClients(): number {
    return this.#aedes.connectedClients
  }

  /** Sends a message to connected subscribers of the topic, QoS 0. */
  publish(topic: string, payload: string): void {
    this.#deliver({ topic, payload })
  }

  /** Matches a message of the gateway, QoS 1; the caller must store its changes in the transaction that it reports. */
  prepare({ topic, payload, isRetained }: { topic: string; payload: string; isRetained: boolean }): RoutedMessage {
    const bytes = Buffer.from(payload)
    const message = { topic, payload: new Uint8Array(bytes), qos: 1, isRetained, extra: null }
    const routed = this.sessions.route(message, this.#subscribersOf(topic))
    return {
      ...routed,
      commit: () => {
        routed.commit()
        // written by a gateway that is stopping: clients receive it when they reconnect
        if (this.#isStarted) this.#deliver({ topic, payload: bytes, qos: 1 })
      },
    }
  }

  /**
   * Sends a message to the connection of a client id, QoS 1. Returns false without a connection, or if the port was not
   * notified of a subscription to the topic: on that notification the port sends pending messages, so the message would
   * be sent twice. Dropped if not acknowledged when the connection ends. With `login`, only to its connection.
   */
  send(clientId: string, topic: string, payload: string, login?: Login): boolean {
    const connection = this.#connections.withClientId(clientId)
    const session = connection?.identity?.session
    if (connection === undefined || session === undefined || session.isGone) return false
    if (login !== undefined && connection.identity?.login !== login) return false
    const qos = connection.subscribedQos(topic)
    if (qos === undefined || !connection.isReady || !connection.isAnnounced(topic)) return false
    if (qos === 0) return connection.sendOnce(topic, payload, false)
    this.sessions.queueForNow(session, { topic, payload, qos: 1, isRetained: false, extra: null })
    return true
  }

  /** Ends connection and session of a client id as stored; undefined if there is neither. Resolves when on the disk. */
  async removeClient(clientId: string): Promise<{ isClosed: boolean; isSessionDiscarded: boolean } | undefined> {
    const isClosed = this.#connections.withClientId(clientId) !== undefined
    const isSessionDiscarded = this.sessions.get(clientId) !== undefined
    if (!isClosed && !isSessionDiscarded) return undefined
    await new Promise<void>((resolve) => closePreviousSession(this.#aedes, clientId, resolve))
    await this.sessions.discard(clientId)
    return { isClosed, isSessionDiscarded }
  }

  forgetSession(clientId: string): void {
    this.sessions.discard(clientId).catch(IGNORE_FAILURE)
  }

  /** Closes all connections of an owner, also those whose login was decided but not answered yet. */
  disconnectOwner(owner: string): void {
    this.#connections.closeOwned(owner)
  }

  /** Closes the connections of an owner and deletes its sessions. */
  forgetOwner(owner: string): void {
    this.disconnectOwner(owner)
    this.sessions.discardOwned(owner)
  }

  /** Closes and deletes the only client id of an owner, and the retained messages below its topic. */
  forget(owner: string, clientId: string, topicPrefix: string): void {
    this.forgetOwner(owner)
    this.sessions.deleteWill(clientId).catch(IGNORE_FAILURE)
    this.sessions.retained.deleteBelow(topicPrefix)
  }

  /** Removes messages that an owner may no longer read from its queues, after its permissions changed. */
  recheckOwner(owner: string): void {
    const connected = [...this.#connections.open].flatMap(({ identity }) => identity?.session ?? [])
    for (const session of new Set([...this.sessions.all(), ...connected])) {
      if (session.owner === owner) this.sessions.recheck(session, (topic) => this.#port.canRead(owner, topic))
    }
  }

  get #port(): BrokerPort<Login> {
    if (this.#served === undefined) throw new Error('the broker is not started')
    return this.#served
  }

  #deliver(message: LiveMessage): void {
    this.#delivery.live(message, this.#subscribersOf(message.topic))
  }

  #subscribersOf(topic: string): Map<Session, number> {
    return this.sessions.match(topic, (owner) => this.#port.canRead(owner, topic))
  }

  /** Logs a takeover that is part of a contest, once for each contest. */
  #takenOver(predecessor: Connection<Login> | undefined, successor: Connection<Login>): void {
    if (predecessor?.identity === undefined) return
    const contest = takeOver(predecessor, successor, this.#clock.monotonicMs())
    if (contest === undefined) return
    this.#port.contested(predecessor.identity.login, contest.takeovers)
    if (!contest.isNew) return
    const { address, client } = successor
    const clientId = printable(givenClientId(client.id))
    const advice =
      `a client at ${predecessor.address} and one at ${address} take this client id from each other: give each ` +
      'its own'
    this.refusals.add('client_id_used_twice', { address, clientId, advice })
  }

  #registered(client: Client): void {
    const connection = this.#connections.of(client)
    if (connection?.identity === undefined) return
    const { session } = connection.identity
    // the session was deleted during the login; closed once Aedes has registered the client
    if (session.isGone) queueMicrotask(() => client.close())
    else this.sessions.enter(session, connection)
    this.#port.connected(connection.identity.login)
  }

  #ready(client: Client): void {
    const connection = this.#connections.of(client)
    const outbox = connection?.identity?.session.outbox
    if (connection === undefined || outbox === undefined) return
    connection.onRead(() => outbox.pump())
    outbox.attach(connection)
    this.status.clientAdded()
    // subscriptions of a persistent session
    this.#announce(client, Object.keys(subscriptionsOf(client)))
  }

  #announce(client: Client, topicFilters: readonly string[]): void {
    const connection = this.#connections.of(client)
    if (connection?.identity === undefined || client.closed) return
    const { announced, identity } = connection
    const added = topicFilters.filter((topicFilter) => !announced.has(topicFilter))
    for (const topicFilter of added) announced.add(topicFilter)
    if (added.length > 0) this.#port.subscribed(identity.login, added)
  }

  #disconnected(client: Client): void {
    const connection = this.#connections.of(client)
    if (connection?.identity === undefined) return
    this.#connections.uncount(connection)
    this.sessions.leave(connection.identity.session, connection)
    this.#port.disconnected(connection.identity.login)
  }

  #subscribe(client: Client, { topic, qos }: Subscription): boolean {
    const connection = this.#connections.of(client)
    if (connection?.identity === undefined || topic === SESSION_MARK) return false
    const { session } = connection.identity
    const refusal = refuseSubscription(connection, connection.identity, topic, {
      sessions: this.sessions,
      budgets: this.#budgets,
      port: this.#port,
      maxSubscriptions: this.#options.maxSubscriptions,
    })
    if (refusal !== undefined) {
      this.#connections.refuse(client, refusal, topic)
      return false
    }
    connection.granted.add(topic)
    // immediately, so that messages right after SUBSCRIBE match; Aedes adds the subscriptions of persistent sessions
    if (!session.isPersistent)
      void this.sessions.subscribe(session, [{ clientId: session.clientId, topicFilter: topic, qos, extra: null }])
    return true
  }

  #unsubscribed(client: Client, topicFilters: string[]): void {
    const connection = this.#connections.of(client)
    for (const topicFilter of topicFilters) {
      connection?.granted.delete(topicFilter)
      connection?.announced.delete(topicFilter)
    }
    const session = connection?.identity?.session
    if (session?.isPersistent === false) void this.sessions.unsubscribe(session, topicFilters)
  }

  #receive(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const connection = client === null ? undefined : this.#connections.of(client)
    if (client === null || connection?.identity === undefined) {
      done(new Error('not logged in'))
      return
    }
    const { owner } = connection.identity
    acknowledgeWhenStored(this.#intake, connection, connection.identity, packet, {
      spend: (items) => this.#budgets.messages.spend(owner, items),
      spendWill: isWillOf(client, packet) ? () => this.#persistence.spendWill(client) : undefined,
      refuse: (reason) => this.#connections.refuse(client, reason, packet.topic),
      done,
    })
  }

  /** Publishes the will of a client whose connection ended with an earlier process. */
  #publishOrphan({ clientId, owner, message }: StoredWill): void {
    const login = this.#port.resume(owner)
    const note = () => this.sessions.deleteWill(clientId).catch(IGNORE_FAILURE)
    if (login === undefined) {
      void note()
      return
    }
    const { topic, payload, qos, isRetained: retain } = message
    const bytes = typeof payload === 'string' ? payload : Buffer.from(payload)
    const packet: PublishPacket = {
      cmd: 'publish',
      topic,
      payload: bytes,
      // comes from a packet, so it is 0, 1 or 2
      qos: Math.min(qos, 1) as 0 | 1,
      retain,
      dup: false,
    }
    const session = this.sessions.createTransient(clientId, owner)
    this.#intake.take(
      { login, owner, session },
      packet,
      { isAlone: false, spendWill: () => this.#persistence.takeWill(clientId) },
      () => undefined,
      note,
    )
  }

  #note(client: Client, error: Error): void {
    const limit = limitOf(error)
    if (limit !== undefined) this.#connections.refuse(client, limit)
    else this.refusals.counts.add(client.id ? 'client_error' : 'connection_error')
    this.#log.debug({ clientId: printable(client.id), reason: error.message }, 'an MQTT connection ended with an error')
  }
}

/** Handler for promises without a caller: the journal has reported the failure. */
const IGNORE_FAILURE = () => undefined
