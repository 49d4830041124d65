import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  Aedes,
  type AuthenticateError,
  type Client,
  type ConnectPacket,
  type PublishPacket,
  type Subscription,
} from 'aedes'
import type { StoredWill } from '#domain/mqtt-sessions.ts'
import { hasWildcard, TOPIC_FILTER_MAX } from '#domain/mqtt-topics.ts'
import { newUuid } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { MqttTransport } from '#shared/mqtt-status.ts'
import type { Clock } from '#shared/time.ts'
import {
  clientInternals,
  connectedClient,
  deliverRetainedWith,
  NO_EMITTER,
  publishOnlySys,
  registerByIdentity,
  setConnectTimeout,
  writeNumbersUncached,
} from './aedes-internals.ts'
import type { BrokerPort } from './broker-port.ts'
import { givenClientId } from './client-ids.ts'
import { Connection, type Identity } from './connection.ts'
import { Delivery, type LiveMessage } from './delivery.ts'
import { Intake } from './intake.ts'
import { type BrokerBudgets, type LIMIT_REFUSALS, limitBehind } from './limits.ts'
import { judgeLogin, SERVER_UNAVAILABLE } from './login.ts'
import { BrokerPersistence, SESSION_MARK } from './mqtt-sessions/broker-persistence.ts'
import type { Session } from './mqtt-sessions/session.ts'
import {
  type RoutedMessage,
  type SessionJournal,
  type SessionLimits,
  Sessions,
} from './mqtt-sessions/sessions.ts'
import { guardPacketSize } from './packet-guard.ts'
import { guardProtocol } from './protocol-guard.ts'
import { acknowledgeWhenStored } from './puback.ts'
import type { ReadGate } from './read-gate.ts'
import { BrokerStatus } from './status/broker-status.ts'
import { Refusals } from './status/refusals.ts'
import { SysTopics } from './status/sys-topics.ts'
import { closePredecessor } from './takeover.ts'

export interface BrokerOptions {
  maxPayloadBytes: number
  /** Bytes a client may leave unread before it is cut off. */
  maxUnreadBytes: number
  maxSubscriptions: number
  maxTopicLevels: number
  /** Time for CONNECT to arrive. */
  connectTimeoutMs: number
  /** QoS 2 messages of a client that were taken and not released. */
  maxReceiving: number
  sessions: SessionLimits
}

/** How a network connection came. */
export interface NetworkOptions {
  transport?: MqttTransport
  /** Bytes that are written but not yet taken by the network, beyond the stream's own. */
  bufferedBytes?: () => number
  /** The request that became a WebSocket. */
  request?: IncomingMessage
  /** The client has logged in. */
  onLoggedIn?: () => void
  /** Its login has failed: tells for how many milliseconds it is to be left without an answer. */
  onLoginFailed?: (userName: string | undefined) => number
}

/** Share of the time for CONNECT by which it differs between connections. */
const CONNECT_SPREAD = 0.2
/** While the disk is behind nothing is read: a client that must be heard more often would be cut off for it. */
const KEEPALIVE_MIN_S = 5
const KEEPALIVE_MAX_S = 600
/** Retained messages that are looked at in the time of one message. */
const RETAINED_A_MESSAGE = 50
/** Packets a client may send behind CONNECT without waiting: as many as one read of a socket can hold. */
const PACKETS_BEHIND_CONNECT = 16_384

/**
 * The MQTT broker. Aedes speaks the protocol; what is kept for whom, in which order it is sent and when it may be
 * acknowledged is decided here. Knows nothing of devices and users; it asks its port.
 */
export class Broker<Login> {
  readonly refusals: Refusals
  readonly sessions: Sessions
  readonly status: BrokerStatus
  readonly #options: BrokerOptions
  readonly #budgets: BrokerBudgets
  readonly #gate: ReadGate
  readonly #clock: Clock
  readonly #log: Log
  /** Outlives the connection: its last will comes after its end. */
  readonly #known = new WeakMap<Client, Connection<Login>>()
  readonly #connections = new Set<Connection<Login>>()
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
    clock: Clock
    log: Log
  }) {
    this.#gate = deps.gate
    this.#options = deps.options
    this.#budgets = deps.budgets
    this.#clock = deps.clock
    this.#log = deps.log
    this.refusals = new Refusals(deps.log)
    this.sessions = new Sessions(deps.journal, deps.options.sessions)
    this.status = new BrokerStatus({
      sessions: this.sessions,
      refused: this.refusals.counts,
      gate: deps.gate,
      connections: this.#connections,
      connectionOf: (clientId) => this.#connectionOf(clientId),
      loggedIn: () => this.connectedClients,
      queueLimits: deps.options.sessions.queued,
    })
    this.#sysTopics = new SysTopics(
      this.status,
      (topic) => this.#subscribersOf(topic).size > 0,
      (topic, payload) => this.publish(topic, payload),
    )
    this.#persistence = new BrokerPersistence(this.sessions, {
      sessionOf: (client) => this.#identityOf(client)?.session ?? this.sessions.get(client.id),
      isGranted: (client, topicFilter) => this.#known.get(client)?.granted.has(topicFilter) ?? false,
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
      // ours is counted where the message is taken
      maxInflightInbound: 0,
      persistence: this.#persistence,
      preConnect: (client, packet, done) => this.#preConnect(client, packet, done),
      authenticate: (client, username, password, done) => {
        this.#authenticate(client, username, password, done)
      },
      authorizePublish: (client, packet, done) => this.#receive(client, packet, done),
      authorizeSubscribe: (client, subscription, done) => {
        // null answers 128 for this topic [MQTT-3.9.3-2]
        done(null, this.#subscribe(client, subscription) ? subscription : null)
      },
    })
  }

  /** Takes connections from now on; `port` says who may do what, and takes what devices send. */
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
    // without a listener this event ends the process
    this.#aedes.addListener('error', (error: Error) =>
      this.#log.error({ reason: error.message }, 'the MQTT broker reported an error'),
    )
    await this.sessions.start()
    await this.#aedes.listen()
    this.#isStarted = true
    await this.status.start()
    await this.#sysTopics.start()
    for (const will of [...this.sessions.wills.values()]) this.#publishOrphan(will)
  }

  /** Closes every connection; their last wills are handed to the port as always. */
  async stop(): Promise<void> {
    if (!this.#isStarted) return
    this.#isStarted = false
    await this.#sysTopics.stop()
    await this.status.stop()
    await new Promise<void>((resolve) => this.#aedes.close(resolve))
    await this.sessions.stop()
  }

  /** Takes over a network connection on which MQTT is to be spoken. */
  handle(stream: Duplex, address: string, network: NetworkOptions = {}): void {
    const { transport = 'tcp', bufferedBytes = () => 0, request } = network
    const { onLoggedIn = () => undefined, onLoginFailed = () => 0 } = network
    if (!this.#isStarted) {
      stream.destroy()
      return
    }
    let connection: Connection<Login> | undefined
    this.#gate.guard(stream, () => this.#throttleMs(connection))
    // those that came together are not all ended together
    setConnectTimeout(this.#aedes, this.#options.connectTimeoutMs * (1 + CONNECT_SPREAD * Math.random()))
    const client = this.#aedes.handle(stream, request)
    connection = new Connection<Login>(client, {
      address,
      transport,
      traffic: this.status,
      bufferedBytes,
      onLoggedIn,
      onLoginFailed,
      maxUnreadBytes: this.#options.maxUnreadBytes,
      onCut: () => this.#refuse(client, 'slow_reader_cut'),
    })
    connection.connectedAtMs = this.#clock.nowMs()
    this.#known.set(client, connection)
    this.#connections.add(connection)
    stream.once('close', () => this.#over(connection))
    deliverRetainedWith(client, (packet, done) => {
      const { identity } = connection
      const isMeant = identity !== undefined && this.#port.canRead(identity.owner, packet.topic)
      if (isMeant && connection.isReady) this.#delivery.retained(connection, identity.session, packet, done)
      else done()
    })
    guardPacketSize(client, this.#options.maxPayloadBytes, () => this.#refuse(client, 'packet_too_large'))
    guardProtocol(
      client,
      () => this.#refuse(client, 'protocol_violation'),
      (clientId = '') => {
        const advice = 'set the MQTT version of this client to 3.1.1'
        this.refusals.add('unsupported_protocol', { address, clientId: printable(clientId), advice })
      },
    )
  }

  get connectedClients(): number {
    return this.#aedes.connectedClients
  }

  /** Sends a message to connected subscribers of the topic, QoS 0. */
  publish(topic: string, payload: string): void {
    this.#deliver({ topic, payload })
  }

  /**
   * Matches a message of the gateway with its subscribers, QoS 1. The changes are the caller's to write, in
   * the transaction that makes the message true.
   */
  prepare({
    topic,
    payload,
    isRetained,
  }: {
    topic: string
    payload: string
    isRetained: boolean
  }): RoutedMessage {
    const bytes = Buffer.from(payload)
    const message = { topic, payload: new Uint8Array(bytes), qos: 1, isRetained, extra: null }
    const routed = this.sessions.route(message, this.#subscribersOf(topic))
    return {
      ...routed,
      commit: () => {
        routed.commit()
        // written by a gateway that is stopping: clients find it when they come back
        if (this.#isStarted) this.#deliver({ topic, payload: bytes, qos: 1 })
      },
    }
  }

  /**
   * Hands a message to the one connection of a client id, QoS 1; false when there is none, or it has not subscribed to
   * the topic. What is not acknowledged when the connection ends is forgotten. With `login`, only to its connection.
   */
  send(clientId: string, topic: string, payload: string, login?: Login): boolean {
    const connection = this.#connectionOf(clientId)
    const session = connection?.identity?.session
    if (connection === undefined || session === undefined || session.isGone) return false
    if (login !== undefined && connection.identity?.login !== login) return false
    const qos = connection.subscribedQos(topic)
    if (qos === undefined || !connection.isReady) return false
    if (qos === 0) return connection.sendOnce(topic, payload, false)
    this.sessions.queueForNow(session, { topic, payload, qos: 1, isRetained: false, extra: null })
    return true
  }

  /**
   * Closes the connection of a client id, as the broker keeps it, and forgets its session; undefined when there is
   * neither. Resolves when a restart would not know the session any more.
   */
  async removeClient(
    clientId: string,
  ): Promise<{ isClosed: boolean; isSessionDiscarded: boolean } | undefined> {
    const isClosed = this.#connectionOf(clientId) !== undefined
    const isSessionDiscarded = this.sessions.get(clientId) !== undefined
    if (!isClosed && !isSessionDiscarded) return undefined
    await new Promise<void>((resolve) => closePredecessor(this.#aedes, clientId, resolve))
    await this.sessions.discard(clientId)
    return { isClosed, isSessionDiscarded }
  }

  /** Forgets the session of a client id, if there is one. */
  forgetSession(clientId: string): void {
    this.sessions.discard(clientId).catch(IGNORE_FAILURE)
  }

  /** Closes all connections of an owner, also those whose login has been judged and not answered yet. */
  disconnectOwner(owner: string): void {
    for (const connection of this.#connections) {
      if (connection.owner === owner) connection.client.close()
    }
  }

  /** Closes the connections of an owner and forgets what was kept for it. */
  forgetOwner(owner: string): void {
    this.disconnectOwner(owner)
    this.sessions.discardOwned(owner)
  }

  /** Forgets an owner with the only client id it has, and the retained messages below its topic. */
  forget(owner: string, clientId: string, topicPrefix: string): void {
    this.forgetOwner(owner)
    this.sessions.deleteWill(clientId).catch(IGNORE_FAILURE)
    this.sessions.retained.deleteBelow(topicPrefix)
  }

  /** What an owner may read has changed: takes out of its queues what it may not. */
  recheckOwner(owner: string): void {
    const connected = [...this.#connections].flatMap(({ identity }) => identity?.session ?? [])
    for (const session of new Set([...this.sessions.all(), ...connected])) {
      if (session.owner === owner) this.sessions.recheck(session, (topic) => this.#port.canRead(owner, topic))
    }
  }

  get #port(): BrokerPort<Login> {
    if (this.#served === undefined) throw new Error('the broker is not started')
    return this.#served
  }

  /** Hands a message to connected subscribers. */
  #deliver(message: LiveMessage): void {
    this.#delivery.live(message, this.#subscribersOf(message.topic))
  }

  #subscribersOf(topic: string): Map<Session, number> {
    return this.sessions.match(topic, (owner) => this.#port.canRead(owner, topic))
  }

  #preConnect(
    client: Client,
    packet: ConnectPacket,
    done: (error: Error | null, isFine: boolean) => void,
  ): void {
    const connection = this.#known.get(client)
    if (connection === undefined) {
      // never `done(null, false)`: that leaves the socket open for ever
      done(new Error('not handled here'), false)
      return
    }
    // until CONNACK nothing more is read: Aedes would handle what comes in a second chunk before it has authenticated
    clientInternals(client).pause()
    packet.keepalive = clampKeepalive(packet.keepalive)
    connection.keepaliveS = packet.keepalive
    connection.isUnnamed = packet.clientId === ''
    // [MQTT-3.1.3-6]
    if (connection.isUnnamed) packet.clientId = `auto-${newUuid()}`
    done(null, true)
  }

  #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
    done: (error: AuthenticateError | null, isFine: boolean) => void,
  ): void {
    const connection = this.#known.get(client)
    if (connection === undefined) return
    const outcome = judgeLogin(
      {
        clientId: client.id,
        isClean: client.clean,
        isUnnamed: connection.isUnnamed,
        address: connection.address,
        will: clientInternals(client)._will,
        username,
        password,
      },
      {
        port: this.#port,
        maxTopicLevels: this.#options.maxTopicLevels,
      },
    )
    if ('reason' in outcome) {
      const { reason, returnCode } = outcome
      this.#refuse(client, reason)
      const answer = () => done(Object.assign(new Error(reason), { returnCode }), false)
      const holdMs = connection.onLoginFailed(username)
      if (holdMs > 0) this.refusals.counts.add('too_many_failed_logins')
      if (holdMs > 0) setTimeout(answer, holdMs).unref()
      else answer()
      return
    }
    const { login, owner, clientId } = outcome
    connection.owner = owner
    // what is written down and who is taken over goes by it
    client.id = clientId
    closePredecessor(this.#aedes, clientId, () => {
      // nobody would give back what it takes; Aedes does not go on with it either
      if (client.closed) return
      const refusal = this.#admit(connection, owner)
      if (refusal !== undefined) {
        this.#refuse(client, refusal)
        done(Object.assign(new Error(refusal), { returnCode: SERVER_UNAVAILABLE }), false)
        return
      }
      const session = client.clean
        ? this.sessions.createTransient(client.id, owner)
        : (this.sessions.get(client.id) ?? this.sessions.create(client.id, owner))
      connection.identity = { login, owner, session }
      connection.onLoggedIn()
      done(null, true)
    })
  }

  /** Counts a connection among those of its owner, until it is over; tells why when the owner has as many as it may. */
  #admit(connection: Connection<Login>, owner: string): (typeof LIMIT_REFUSALS)[number] | undefined {
    const { clean, id } = connection.client
    const isNew = !clean && this.sessions.get(id) === undefined
    if (isNew && !this.#budgets.sessions.allows(this.sessions.keptBy(owner)))
      return 'too_many_sessions_of_owner'
    const mayUseReserve = this.#port.mayUseReserve(owner)
    if (!this.#budgets.connections.take(owner, { mayUseReserve })) return 'too_many_connections_of_owner'
    connection.isCounted = true
    return undefined
  }

  #over(connection: Connection<Login>): void {
    this.#connections.delete(connection)
    if (connection.identity === undefined) return
    this.#uncount(connection)
    this.sessions.abandon(connection.identity.session)
  }

  #uncount(connection: Connection<Login>): void {
    if (!connection.isCounted || connection.identity === undefined) return
    connection.isCounted = false
    this.#budgets.connections.release(connection.identity.owner)
  }

  #registered(client: Client): void {
    const connection = this.#known.get(client)
    if (connection?.identity === undefined) return
    const { session } = connection.identity
    // forgotten while it logged in: what it was about to take up is no more; closed once Aedes has it on its list
    if (session.isGone) queueMicrotask(() => client.close())
    else this.sessions.enter(session, connection)
    this.#port.connected(connection.identity.login)
  }

  #ready(client: Client): void {
    const connection = this.#known.get(client)
    const outbox = connection?.identity?.session.outbox
    if (connection === undefined || outbox === undefined) return
    connection.onRead(() => outbox.pump())
    outbox.attach(connection)
    this.status.clientAdded()
    // what a kept session had subscribed to
    this.#announce(client, Object.keys(clientInternals(client).subscriptions))
  }

  #announce(client: Client, topicFilters: readonly string[]): void {
    const connection = this.#known.get(client)
    if (connection?.identity === undefined || client.closed) return
    const { announced, identity } = connection
    const added = topicFilters.filter((topicFilter) => !announced.has(topicFilter))
    for (const topicFilter of added) announced.add(topicFilter)
    if (added.length > 0) this.#port.subscribed(identity.login, added)
  }

  #disconnected(client: Client): void {
    const connection = this.#known.get(client)
    if (connection?.identity === undefined) return
    this.#uncount(connection)
    this.sessions.leave(connection.identity.session, connection)
    this.#port.disconnected(connection.identity.login)
  }

  #subscribe(client: Client, { topic, qos }: Subscription): boolean {
    if (!this.#maySubscribe(client, topic)) return false
    const session = this.#identityOf(client)?.session
    // at once: what comes right behind SUBSCRIBE is matched with it. A session that is kept is told by Aedes.
    if (session?.isPersistent === false)
      void this.sessions.subscribe(session, [
        { clientId: session.clientId, topicFilter: topic, qos, extra: null },
      ])
    return true
  }

  #maySubscribe(client: Client, topicFilter: string): boolean {
    const connection = this.#known.get(client)
    if (connection?.identity === undefined || topicFilter === SESSION_MARK) return false
    const { granted, identity } = connection
    this.#budgets.messages.spend(identity.owner, this.#costOf(topicFilter))
    if (topicFilter.length > TOPIC_FILTER_MAX) {
      this.#refuse(client, 'topic_filter_too_long', topicFilter)
      return false
    }
    if (!granted.has(topicFilter) && granted.size >= this.#options.maxSubscriptions) {
      this.#refuse(client, 'too_many_subscriptions', topicFilter)
      return false
    }
    const { owner, session } = identity
    // the subscriptions of a kept session come again with each of its connections
    const isKnown = session.subscriptions.has(topicFilter)
    if (!isKnown && !this.#budgets.subscriptions.allows(this.sessions.subscriptionsOf(owner))) {
      this.#refuse(client, 'too_many_subscriptions_of_owner', topicFilter)
      return false
    }
    if (!this.#port.canSubscribe(owner, topicFilter)) {
      this.#refuse(client, 'topic_not_readable', topicFilter)
      return false
    }
    granted.add(topicFilter)
    return true
  }

  /** Subscribing is reckoned as a message; with a wildcard all that is retained has to be looked at. */
  #costOf(topicFilter: string): number {
    return hasWildcard(topicFilter) ? 1 + this.sessions.retained.size / RETAINED_A_MESSAGE : 1
  }

  #unsubscribed(client: Client, topicFilters: string[]): void {
    const connection = this.#known.get(client)
    for (const topicFilter of topicFilters) {
      connection?.granted.delete(topicFilter)
      connection?.announced.delete(topicFilter)
    }
    const session = connection?.identity?.session
    if (session?.isPersistent === false) void this.sessions.unsubscribe(session, topicFilters)
  }

  #receive(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const connection = client === null ? undefined : this.#known.get(client)
    if (client === null || connection?.identity === undefined) {
      done(new Error('not logged in'))
      return
    }
    const { owner } = connection.identity
    acknowledgeWhenStored(this.#intake, connection, connection.identity, packet, {
      spend: (items) => this.#budgets.messages.spend(owner, items),
      spendWill: isWillOf(client, packet) ? () => this.#persistence.spendWill(client.id) : undefined,
      refuse: (reason) => this.#refuse(client, reason, packet.topic),
      done,
    })
  }

  /** Speaks for a client whose connection ended with the process. */
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
      // taken from a packet, so it is one of the three
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

  #connectionOf(clientId: string): Connection<Login> | undefined {
    const client = connectedClient(this.#aedes, clientId)
    return client && this.#known.get(client)
  }

  #identityOf(client: Pick<Client, 'id'>): Identity<Login> | undefined {
    // Aedes asks with a client or with nothing but its id, of which nothing is noted
    return this.#known.get(client as Client)?.identity
  }

  #throttleMs(connection: Connection<Login> | undefined): number {
    if (connection?.identity === undefined) return 0
    const { owner } = connection.identity
    const messagesMs = this.#budgets.messages.debtMs(owner)
    if (messagesMs > 0) this.refusals.counts.add('throttled')
    const debt = this.#port.debtOf(owner)
    if (debt !== undefined) this.#refuse(connection.client, debt.reason)
    const waitMs = Math.max(messagesMs, debt?.waitMs ?? 0)
    if (waitMs > 0) connection.throttled++
    return waitMs
  }

  #refuse(client: Client, reason: string, topic?: string): void {
    const address = this.#known.get(client)?.address ?? 'unknown'
    this.refusals.add(reason, {
      address,
      clientId: printable(givenClientId(client.id ?? '')),
      ...(topic === undefined ? {} : { topic: printable(topic) }),
    })
  }

  #note(client: Client, error: Error): void {
    const limit = limitBehind(error)
    if (limit !== undefined) this.#refuse(client, limit)
    else this.refusals.counts.add(client.id ? 'client_error' : 'connection_error')
    this.#log.debug(
      { clientId: printable(client.id), reason: error.message },
      'an MQTT connection ended with an error',
    )
  }
}

/** For promises without a caller: the journal has reported the failure. */
const IGNORE_FAILURE = () => undefined

function clampKeepalive(keepaliveS: number | undefined): number {
  // 0 would mean a dead connection is never noticed
  if (keepaliveS === undefined || keepaliveS === 0) return KEEPALIVE_MAX_S
  return Math.min(Math.max(keepaliveS, KEEPALIVE_MIN_S), KEEPALIVE_MAX_S)
}

/** Whether Aedes publishes this for a client that is gone. */
function isWillOf(client: Client, packet: PublishPacket): boolean {
  return clientInternals(client).will === packet
}

function printable(text: string | null): string {
  return (text ?? '').slice(0, 128)
}
