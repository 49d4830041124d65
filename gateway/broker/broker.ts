import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  Aedes,
  type AedesPublishPacket,
  type AuthenticateError,
  type Client,
  type ConnectPacket,
  type PublishPacket,
} from 'aedes'
import type { Part } from '../../shared/lifecycle.ts'
import type { Log } from '../../shared/log.ts'
import {
  clientInternals,
  isAwaitingRelease,
  routeOnly,
  streamOf,
  writeNumbersUncached,
} from './aedes-internals.ts'
import type { BrokerPort } from './broker-port.ts'
import { disableDuplicateFilter, RecentMessages } from './duplicate-filter.ts'
import { guardPacketSize } from './packet-guard.ts'
import type { ReadGate } from './read-gate.ts'
import { Refusals } from './refusals.ts'
import { forwardDecision, neverWaitForDrain } from './slow-reader.ts'
import { closePredecessor } from './takeover.ts'

export interface BrokerOptions {
  maxPayloadBytes: number
  /** Bytes a client may leave unread before it is cut off. */
  maxUnreadBytes: number
}

const CLIENT_ID_MAX = 256
const KEEPALIVE_MIN_S = 10
const KEEPALIVE_MAX_S = 600
const TOPIC_LEVELS_MAX = 12
/** CONNACK return codes of MQTT 3.1.1, table 3.1. */
const IDENTIFIER_REJECTED = 2
const BAD_USER_NAME_OR_PASSWORD = 4

/** What is known of one network connection. */
interface Connection<Session> {
  address: string
  /** Bytes that are written but not yet taken by the network, beyond the stream's own. */
  bufferedBytes: () => number
  session: Session | undefined
  recent: RecentMessages
}

/**
 * The MQTT broker: Aedes, with the layer around it that makes its acknowledgements true and keeps clients from harming
 * each other. Knows nothing of devices; it asks its port.
 */
export class Broker<Session> implements Part {
  readonly refusals: Refusals
  readonly #port: BrokerPort<Session>
  readonly #options: BrokerOptions
  readonly #gate: ReadGate
  readonly #log: Log
  readonly #connections = new WeakMap<Client, Connection<Session>>()
  readonly #aedes: Aedes
  #isStarted = false

  constructor(port: BrokerPort<Session>, gate: ReadGate, options: BrokerOptions, log: Log) {
    this.#port = port
    this.#gate = gate
    this.#options = options
    this.#log = log
    this.refusals = new Refusals(log)
    this.#aedes = new Aedes({
      // with a bound, one subscriber that falls behind and leaves overflows the stack (mqemitter #204)
      concurrency: 0,
      drainTimeout: 10_000,
      connectTimeout: 10_000,
      maxTopicLevels: TOPIC_LEVELS_MAX,
      preConnect: (client, packet, done) => this.#preConnect(client, packet, done),
      authenticate: (client, username, password, done) => {
        this.#authenticate(client, username, password, done)
      },
      authorizePublish: (client, packet, done) => this.#receive(client, packet, done),
      authorizeSubscribe: (client, subscription, done) => {
        const isReadable = this.#canRead(client, subscription.topic)
        if (!isReadable) this.#refuse(client, 'topic_not_readable', subscription.topic)
        // null answers 128 for this topic [MQTT-3.9.3-2]
        done(null, isReadable ? subscription : null)
      },
      authorizeForward: (client, packet) => this.#forward(client, packet),
    })
  }

  async start(): Promise<void> {
    writeNumbersUncached()
    routeOnly(this.#aedes, (packet) => packet.retain || this.#port.isReadable(packet.topic))
    this.#aedes.on('client', (client) => {
      disableDuplicateFilter(client)
      const session = this.#connections.get(client)?.session
      if (session !== undefined) this.#port.connected(session)
    })
    this.#aedes.on('clientReady', neverWaitForDrain)
    this.#aedes.on('clientDisconnect', (client) => {
      const session = this.#connections.get(client)?.session
      if (session !== undefined) this.#port.disconnected(session)
    })
    this.#aedes.on('connectionError', (client, error) => this.#note(client, error))
    this.#aedes.on('clientError', (client, error) => this.#note(client, error))
    this.#aedes.on('keepaliveTimeout', () => this.refusals.counts.add('keepalive_timeout'))
    // without a listener this event ends the process
    this.#aedes.addListener('error', (error: Error) =>
      this.#log.error({ reason: error.message }, 'broker error'),
    )
    await this.#aedes.listen()
    this.#isStarted = true
  }

  /** Closes every connection; their last wills are handed to the port as always. */
  async stop(): Promise<void> {
    if (!this.#isStarted) return
    this.#isStarted = false
    await new Promise<void>((resolve) => this.#aedes.close(resolve))
  }

  /** Takes over a network connection on which MQTT is to be spoken. */
  handle(
    stream: Duplex,
    address: string,
    bufferedBytes: () => number = () => 0,
    request?: IncomingMessage,
  ): void {
    if (!this.#isStarted) {
      stream.destroy()
      return
    }
    this.#gate.guard(stream)
    const client = this.#aedes.handle(stream, request)
    this.#connections.set(client, {
      address,
      bufferedBytes,
      session: undefined,
      recent: new RecentMessages(),
    })
    guardPacketSize(client, this.#options.maxPayloadBytes, () => this.#refuse(client, 'packet_too_large'))
  }

  get connectedClients(): number {
    return this.#aedes.connectedClients
  }

  /** Sends a message to whoever subscribed to the topic, QoS 0. */
  publish(topic: string, payload: string): void {
    const packet: PublishPacket = { cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false }
    this.#aedes.publish(packet, () => undefined)
  }

  /** Closes the connection of a client id, if there is one. */
  disconnect(clientId: string): void {
    closePredecessor(this.#aedes, clientId, () => undefined)
  }

  #preConnect(
    client: Client,
    packet: ConnectPacket,
    done: (error: Error | null, isFine: boolean) => void,
  ): void {
    const problem = connectProblem(packet)
    if (problem === null) {
      packet.keepalive = clampKeepalive(packet.keepalive)
      done(null, true)
    } else {
      this.#refuse(client, problem)
      // never `done(null, false)`: that leaves the socket open for ever
      done(new Error(problem), false)
    }
  }

  #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
    done: (error: AuthenticateError | null, isFine: boolean) => void,
  ): void {
    const connection = this.#connections.get(client)
    if (connection === undefined) return
    const login = this.#port.login(client.id, username, password, connection.address)
    if (login.ok) {
      closePredecessor(this.#aedes, client.id, () => {
        connection.session = login.session
        done(null, true)
      })
    } else {
      this.#refuse(client, login.reason)
      const isIdWrong = login.reason === 'client_id_mismatch'
      done(loginError(isIdWrong ? IDENTIFIER_REJECTED : BAD_USER_NAME_OR_PASSWORD), false)
    }
  }

  #receive(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const session = client === null ? undefined : this.#connections.get(client)?.session
    if (client === null || session === undefined) {
      done(new Error('not logged in'))
    } else if (packet.qos === 2) {
      // Aedes looks for the first copy only after this hook; a second one must not be taken again [MQTT-4.3.3-2]
      void isAwaitingRelease(this.#aedes, client, packet).then((isCopy) => {
        if (isCopy) done(null)
        else this.#take(client, session, packet, done)
      })
    } else {
      this.#take(client, session, packet, done)
    }
  }

  #take(client: Client, session: Session, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const refuse = (reason: string) => {
      this.#refuse(client, reason, packet.topic)
      done(new Error(reason))
    }
    const level = this.#port.uplinkOf(session, packet.topic)
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload
    if (level === undefined) refuse('topic_not_writable')
    else if (payload.length > this.#options.maxPayloadBytes) refuse('packet_too_large')
    else {
      const isWill = clientInternals(client).will === packet
      this.#port.receive(
        session,
        { level, payload, qos: packet.qos, isWill },
        () => this.#acknowledge(client, packet, isWill, done),
        refuse,
      )
    }
  }

  // Aedes writes PUBACK right after `done`, so what the message holds must be on the disk before it is called.
  #acknowledge(
    client: Client,
    packet: PublishPacket,
    isWill: boolean,
    done: (error?: Error | null) => void,
  ): void {
    if (!client.closed || isWill || packet.qos === 0) {
      done(null)
      return
    }
    // Aedes would forget the message with its sender; its subscribers are still there
    this.#aedes.publish(packet, () => undefined)
    done(new Error('connection closed'))
  }

  #forward(client: Client, packet: AedesPublishPacket): AedesPublishPacket | null {
    const connection = this.#connections.get(client)
    if (connection === undefined || !this.#canRead(client, packet.topic)) return null
    // in the replay of a session Aedes waits for the reader, and null would delete the message from its queue
    if (!client.connected) return packet
    // a retained message on SUBSCRIBE has no broker id: it is sent however often it is asked for
    if (packet.brokerId && !connection.recent.isNew(packet.brokerId, packet.brokerCounter)) return null
    const unreadBytes = streamOf(client).writableLength + connection.bufferedBytes()
    const decision = forwardDecision(packet.qos, unreadBytes, this.#options.maxUnreadBytes)
    if (decision === 'send') return packet
    this.refusals.counts.add(decision === 'cut' ? 'slow_reader_cut' : 'slow_reader_skipped')
    if (decision === 'skip') return null
    // a QoS 1 message stays in the queue of a session that is cut
    streamOf(client).destroy()
    return packet
  }

  #canRead(client: Client, topicFilter: string): boolean {
    const session = this.#connections.get(client)?.session
    return session !== undefined && this.#port.canRead(session, topicFilter)
  }

  #refuse(client: Client, reason: string, topic?: string): void {
    const address = this.#connections.get(client)?.address ?? 'unknown'
    this.refusals.add(reason, {
      address,
      clientId: printable(client.id),
      ...(topic === undefined ? {} : { topic: printable(topic) }),
    })
  }

  #note(client: Client, error: Error): void {
    this.refusals.counts.add(client.id ? 'client_error' : 'connection_error')
    this.#log.debug(
      { clientId: printable(client.id), reason: error.message },
      'mqtt connection ended with an error',
    )
  }
}

function connectProblem(packet: {
  clientId: string
  username?: string
  will?: { topic: string }
}): string | null {
  if (packet.clientId.length > CLIENT_ID_MAX) return 'client_id_too_long'
  // a last will speaks for the device when nobody can ask it any more: its own status, nothing else
  if (packet.will !== undefined && packet.will.topic !== `dev/${packet.username ?? ''}/st`)
    return 'will_not_writable'
  return null
}

function clampKeepalive(keepaliveS: number | undefined): number {
  // 0 would mean a dead connection is never noticed
  if (keepaliveS === undefined || keepaliveS === 0) return KEEPALIVE_MAX_S
  return Math.min(Math.max(keepaliveS, KEEPALIVE_MIN_S), KEEPALIVE_MAX_S)
}

function loginError(returnCode: 2 | 4): Error & { returnCode: 2 | 4 } {
  return Object.assign(
    new Error(returnCode === IDENTIFIER_REJECTED ? 'identifier rejected' : 'bad user name or password'),
    { returnCode },
  )
}

function printable(text: string | null): string {
  return (text ?? '').slice(0, 128)
}
