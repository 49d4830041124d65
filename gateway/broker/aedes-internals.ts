import type { Duplex } from 'node:stream'
import type { Aedes, Client, PublishPacket } from 'aedes'
import { writeToStream } from 'mqtt-packet'
import { givenClientId } from './client-ids.ts'

type Done = (error?: Error) => void
type Deliver = (packet: RetainedPacket, done: () => void) => void

/** A retained message that a client has just asked for. */
export type RetainedPacket = Pick<PublishPacket, 'topic' | 'payload' | 'qos'>

/**
 * The parts of Aedes 1.2.0 that it does not publish and that we touch, in one place: an upgrade is judged by the
 * tests of the files that use them.
 */
interface ClientInternals {
  /** Parser of mqtt-packet; `packet.length` is known as soon as a fixed header has been read. */
  _parser: {
    parse(chunk: Buffer): number
    packet: { length: number }
    error: Error | null
    /** Which part of a packet is read next: 0 its first byte, 1 its length, 2 what follows. */
    _stateCounter: number
    /** What has come and was not read. */
    _list: { length: number }
    /** Packets that wait for the end of CONNECT; null after it. */
    _queue: unknown[] | null
    on(event: 'packet', listener: () => void): void
  }
  /** Stops reading the connection; Aedes goes on by itself when it has sent CONNACK. */
  pause(): void
  /** The last will as it will be published, and as it was asked for before the login. */
  will: PublishPacket | null
  _will: PublishPacket | null | undefined
  /** CONNACK has been written. */
  connackSent: boolean
  /** Packets that are under way; with the last of them `_nextBatch` reads on. */
  _parsingBatch: number
  _nextBatch(): void
  /** 0 or less without a timer. */
  _keepaliveInterval: number
  _keepaliveTimer: NodeJS.Timeout | null
  /** Granted subscriptions by topic filter. */
  subscriptions: Record<string, { qos: number }>
  /** What is called with each retained message. */
  deliverQoS: Deliver
}

interface BrokerInternals {
  publish(packet: PublishPacket, client: Client | Done | null, done?: Done): void
  /** Connected clients by client id. */
  clients: Record<string, Client>
  /** How long the next connection has to send CONNECT. */
  connectTimeout: number
  /** Searches the last wills of other brokers, from `listen()` on. */
  _clearWillInterval: NodeJS.Timeout
  /** Puts a client on the list of those connected, closing the one that has its id, and takes it off. */
  registerClient(client: Client): void
  unregisterClient(client: Client): void
}

export function clientInternals(client: Client): ClientInternals {
  return client as unknown as ClientInternals
}

function brokerInternals(aedes: Aedes): BrokerInternals {
  return aedes as unknown as BrokerInternals
}

export function connectedClient(aedes: Aedes, clientId: string): Client | undefined {
  return brokerInternals(aedes).clients[clientId]
}

/**
 * Stands for the emitter that would hand each message to every subscription it matches: `SubscriptionIndex` does that,
 * and asks first who may read it.
 */
export const NO_EMITTER = {
  on: (_topic: string, _listener: unknown, done?: () => void) => done && setImmediate(done),
  removeListener: (_topic: string, _listener: unknown, done?: () => void) => done && setImmediate(done),
  emit: (_packet: object, done?: () => void) => done?.(),
  close: (done: () => void) => setImmediate(done),
}

/**
 * Ends a message after its acknowledgement: by then it has been routed. Only what Aedes itself has to say ($SYS) is
 * handed on, with client ids as they were given.
 */
export function publishOnlySys(aedes: Aedes, deliver: (packet: PublishPacket) => void): void {
  brokerInternals(aedes).publish = (packet, client, done) => {
    if (packet.topic.startsWith('$SYS/')) deliver(withGivenId(packet))
    if (typeof client === 'function') client()
    else done?.()
  }
}

function withGivenId(packet: PublishPacket): PublishPacket {
  if (!/^\$SYS\/[^/]+\/(new|disconnect)\/clients$/.test(packet.topic)) return packet
  return { ...packet, payload: Buffer.from(givenClientId(packet.payload.toString())) }
}

/**
 * Keeps the list of connected clients right. Aedes puts a client on it whose connection ended while its last will was
 * stored, and strikes off whoever has the id when an old connection has been closed.
 */
export function registerByIdentity(aedes: Aedes): void {
  const internals = brokerInternals(aedes)
  const register = internals.registerClient.bind(aedes)
  const unregister = internals.unregisterClient.bind(aedes)
  const unregisterOnce = (client: Client) => {
    if (internals.clients[client.id] === client) unregister(client)
  }
  internals.unregisterClient = unregisterOnce
  internals.registerClient = (client) => {
    if (client.closed) return
    const predecessor = internals.clients[client.id]
    // one that is about to be closed would come off the list after its successor has come on it
    if (predecessor?.closed) unregisterOnce(predecessor)
    register(client)
  }
}

/**
 * Stops the search for last wills of other brokers, four minutes after `listen()` and every four minutes from then on.
 * Aedes takes a broker for dead whose heartbeat has not come through its emitter. `NO_EMITTER` hands on no heartbeat,
 * not even this broker's, so the search would publish the wills of clients that are connected. The broker publishes the
 * wills that an earlier process left when it starts.
 */
export function searchNoWills(aedes: Aedes): void {
  clearInterval(brokerInternals(aedes)._clearWillInterval)
}

/** How long the next connection that is handled has to send CONNECT. */
export function setConnectTimeout(aedes: Aedes, timeoutMs: number): void {
  brokerInternals(aedes).connectTimeout = timeoutMs
}

/** Puts a client's retained messages into our hands; Aedes would write each at once and wait for the slowest reader. */
export function deliverRetainedWith(client: Client, deliver: Deliver): void {
  clientInternals(client).deliverQoS = deliver
}

/**
 * Makes mqtt-packet write numbers as it goes. By default it keeps every 16-bit number as a buffer of its own, 65,536
 * of them, which is 7 MB for the garbage collector to walk for ever.
 */
export function writeNumbersUncached(): void {
  writeToStream.cacheNumbers = false
}

/** The stream under a client: a TCP socket, a TLS socket, or the stream of a WebSocket. */
export function streamOf(client: Client): Duplex {
  return client.conn
}
