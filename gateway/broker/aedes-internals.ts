import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type { Aedes, Client, PublishPacket } from 'aedes'
import { writeToStream } from 'mqtt-packet'
import { givenClientId } from './client-ids.ts'

type Done = (error?: Error) => void
type Deliver = (packet: RetainedPacket, done: () => void) => void

/** A retained message that a client has just asked for. */
export type RetainedPacket = Pick<PublishPacket, 'topic' | 'payload' | 'qos'>

/** A packet that mqtt-packet has parsed, as far as the broker checks it. */
export interface ParsedPacket {
  cmd: string
  length: number
  qos: number
  dup: boolean
  messageId?: number
  username?: string
  password?: Buffer
  will?: { qos: number }
  subscriptions?: { topic: string }[]
  unsubscriptions?: string[]
}

/** The parser of mqtt-packet 9.0.2: its steps, and how far they have come in the current packet. */
export interface Parser extends EventEmitter {
  parse(chunk: Buffer): number
  /** Its `length` is known as soon as a fixed header has been read. */
  packet: ParsedPacket
  error: Error | null
  /** The next part of a packet: 0 its first byte, 1 its length, 2 the rest. */
  _stateCounter: number
  /** Bytes that were received and not parsed. */
  _list: {
    length: number
    slice(start: number, end: number): Buffer
    toString(encoding: 'utf8', start: number, end: number): string
    readUInt16BE(at: number): number
    /** Both throw past the end. */
    readUInt8(at: number): number
  }
  _pos: number
  /** Packets that wait for the end of CONNECT; null after it. */
  _queue: unknown[] | null
  _parseHeader(): boolean
  _parsePayload(): boolean
  _parseConnect(): unknown
  _parseString(): string | null
  _emitError(error: Error): void
}

/**
 * The parts of Aedes 1.2.0 that it does not publish and that the broker reads or replaces. They and the replaced
 * methods of mqtt-packet and of streams are in this file only: the tests of the files that use them judge an upgrade.
 */
interface ClientInternals {
  _parser: Parser
  pause(): void
  will: PublishPacket | null
  _will: PublishPacket | null | undefined
  connackSent: boolean
  /** Packets that are being handled; after the last one `_nextBatch` reads on. */
  _parsingBatch: number
  _nextBatch(): void
  /** 0 or less without a timer. */
  _keepaliveInterval: number
  _keepaliveTimer: NodeJS.Timeout | null
  /** Granted subscriptions by topic filter. */
  subscriptions: Record<string, { qos: number }>
  /** Is called with each retained message. */
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

function clientInternals(client: Client): ClientInternals {
  return client as unknown as ClientInternals
}

function brokerInternals(aedes: Aedes): BrokerInternals {
  return aedes as unknown as BrokerInternals
}

export function connectedClient(aedes: Aedes, clientId: string): Client | undefined {
  return brokerInternals(aedes).clients[clientId]
}

/** True from CONNACK until the connection ends. */
export function isReady(client: Client): boolean {
  return !client.closed && clientInternals(client).connackSent
}

/** Stops reading a connection until CONNACK is sent. */
export function pauseUntilConnack(client: Client): void {
  clientInternals(client).pause()
}

/** The last will of a CONNECT whose login is not judged yet. */
export function requestedWill(client: Client): PublishPacket | null | undefined {
  return clientInternals(client)._will
}

/** True for the last will that Aedes publishes for a client that is gone. */
export function isWillOf(client: Client, packet: PublishPacket): boolean {
  return clientInternals(client).will === packet
}

/** Granted subscriptions by topic filter. */
export function subscriptionsOf(client: Client): Readonly<Record<string, { qos: number }>> {
  return clientInternals(client).subscriptions
}

/** True when Aedes has handled CONNECT and the next byte begins a packet. */
export function isAtPacket(client: Client): boolean {
  const { _parser: parser, connackSent } = clientInternals(client)
  const hasReadAll = parser._stateCounter === 0 && parser._list.length === 0 && parser.error === null
  return hasReadAll && connackSent && parser._queue === null && !client.closed
}

/** Bytes that the current packet lacks; 0 where its length is not known. */
export function missingBytes(client: Client): number {
  const { _stateCounter, _list, packet } = clientInternals(client)._parser
  return _stateCounter === 2 ? packet.length - _list.length : 0
}

/** Bytes that were received and not parsed. */
export function unparsedBytes(client: Client): number {
  return clientInternals(client)._parser._list.length
}

/** The length that the fixed header of the current packet announces. */
export function announcedBytes(client: Client): number {
  return clientInternals(client)._parser.packet.length
}

export function onPacket(client: Client, listener: () => void): void {
  clientInternals(client)._parser.on('packet', listener)
}

/**
 * Calls `read` with each chunk in place of what parsed it before: the parser, or an earlier `read`. `read` returns the
 * number of bytes that are not parsed yet, as `parse` does.
 */
export function readWith(client: Client, read: (chunk: Buffer, parse: (chunk: Buffer) => number) => number): void {
  const { _parser: parser } = clientInternals(client)
  const parse = parser.parse.bind(parser)
  parser.parse = (chunk) => read(chunk, parse)
}

/** Steps in place of the parser's own, each of which is given the one that it replaces. */
interface ParserSteps {
  header(parse: () => boolean): boolean
  payload(parse: () => boolean): boolean
  connect(parse: () => unknown): unknown
  string(parse: () => string | null): string | null
}

export function parseWith(client: Client, stepsOf: (parser: Parser) => ParserSteps): void {
  const { _parser: parser } = clientInternals(client)
  const steps = stepsOf(parser)
  const header = parser._parseHeader.bind(parser)
  const payload = parser._parsePayload.bind(parser)
  const connect = parser._parseConnect.bind(parser)
  const string = parser._parseString.bind(parser)
  parser._parseHeader = () => steps.header(header)
  parser._parsePayload = () => steps.payload(payload)
  parser._parseConnect = () => steps.connect(connect)
  parser._parseString = () => steps.string(string)
}

/** Counts packets that were read in front of Aedes among those that it handles, and as a sign of life. */
export function beginPackets(client: Client, count: number): void {
  const internals = clientInternals(client)
  internals._parsingBatch += count
  if (internals._keepaliveInterval > 0) internals._keepaliveTimer?.refresh()
}

/** Ends as many of them; after the last packet Aedes reads on. */
export function endPackets(client: Client, count: number): void {
  const internals = clientInternals(client)
  internals._parsingBatch -= count - 1
  internals._nextBatch()
}

/**
 * Makes writing to a stream never wait: Aedes would have each publisher wait for the slowest subscriber. `onWritten` is
 * called with the bytes of each write, `onPacket` once for each packet, Aedes' answers included.
 */
export function neverWaitForDrain(
  stream: Duplex,
  { onPacket, onWritten }: { onPacket: () => void; onWritten: (bytes: number) => void },
): void {
  const write = stream.write.bind(stream)
  const writeOn = (...args: Parameters<typeof write>) => {
    const [chunk] = args
    write(...args)
    onWritten(typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length)
    return true
  }
  Object.assign(stream, { write: writeOn })
  // mqtt-packet corks the stream once for every packet it writes
  const cork = stream.cork.bind(stream)
  stream.cork = () => {
    onPacket()
    cork()
  }
}

/**
 * Calls `take` in place of each `read()` that is for the reader of a stream, with a function that reads so many bytes.
 */
export function readStreamWith(stream: Duplex, take: (read: (size?: number) => unknown) => unknown): void {
  const read = stream.read.bind(stream)
  // with a number the stream machinery itself asks, for its own bookkeeping
  stream.read = (size?: number | null) => (typeof size === 'number' ? read(size) : take(read))
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
