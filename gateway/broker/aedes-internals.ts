import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type { Aedes, Client, PublishPacket } from 'aedes'
import { writeToStream } from 'mqtt-packet'
import { givenClientId } from './client-ids.ts'

type Done = (error?: Error) => void
type Deliver = (packet: RetainedPacket, done: () => void) => void

/** Retained message for a client that has just subscribed. */
export type RetainedPacket = Pick<PublishPacket, 'topic' | 'payload' | 'qos'>

/** Packet parsed by mqtt-packet, with the fields that the broker checks. */
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

/** Parser of mqtt-packet 9.0.2: its steps, and its progress in the current packet. */
export interface Parser extends EventEmitter {
  parse(chunk: Buffer): number
  /** Current packet; its `length` is known once the fixed header has been read. */
  packet: ParsedPacket
  error: Error | null
  /** Next step of a packet: 0 its first byte, 1 its length, 2 the rest. */
  _stateCounter: number
  /** Bytes that were received but not parsed. */
  _list: {
    length: number
    slice(start: number, end: number): Buffer
    toString(encoding: 'utf8', start: number, end: number): string
    readUInt16BE(at: number): number
    /** Throws past the end, as does `readUInt16BE`. */
    readUInt8(at: number): number
  }
  _pos: number
  /** Packets that wait until CONNECT is handled; null afterwards. */
  _queue: unknown[] | null
  _parseHeader(): boolean
  _parsePayload(): boolean
  _parseConnect(): unknown
  _parseString(): string | null
  _emitError(error: Error): void
}

/**
 * Undocumented parts of Aedes 1.2.0 that the broker reads or replaces. These and the replaced methods of mqtt-packet
 * and of streams are in this file only: the tests of the files that use them verify an upgrade.
 */
interface ClientInternals {
  _parser: Parser
  pause(): void
  will: PublishPacket | null
  _will: PublishPacket | null | undefined
  connackSent: boolean
  /** Number of packets being handled; after the last one `_nextBatch` continues reading. */
  _parsingBatch: number
  _nextBatch(): void
  /** 0 or less without a timer. */
  _keepaliveInterval: number
  _keepaliveTimer: NodeJS.Timeout | null
  subscriptions: Record<string, { qos: number }>
  /** Called with each retained message. */
  deliverQoS: Deliver
}

interface BrokerInternals {
  publish(packet: PublishPacket, client: Client | Done | null, done?: Done): void
  /** Connected clients, keyed by client id. */
  clients: Record<string, Client>
  /** Timeout of CONNECT on the next connection, in ms. */
  connectTimeout: number
  /** Timer that searches the wills of other brokers, started by `listen()`. */
  _clearWillInterval: NodeJS.Timeout
  /** Adds a client to the connected ones and closes the one with the same id; `unregisterClient` removes it. */
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

/** Returns the will of a CONNECT before its login is decided. */
export function requestedWill(client: Client): PublishPacket | null | undefined {
  return clientInternals(client)._will
}

/** True for the will that Aedes publishes for a client that has disconnected. */
export function isWillOf(client: Client, packet: PublishPacket): boolean {
  return clientInternals(client).will === packet
}

/** Returns granted subscriptions, keyed by topic filter. */
export function subscriptionsOf(client: Client): Readonly<Record<string, { qos: number }>> {
  return clientInternals(client).subscriptions
}

/** True if Aedes has handled CONNECT and the next byte begins a packet. */
export function isAtPacket(client: Client): boolean {
  const { _parser: parser, connackSent } = clientInternals(client)
  const hasReadAll = parser._stateCounter === 0 && parser._list.length === 0 && parser.error === null
  return hasReadAll && connackSent && parser._queue === null && !client.closed
}

/** Returns the number of missing bytes of the current packet; 0 if its length is unknown. */
export function missingBytes(client: Client): number {
  const { _stateCounter, _list, packet } = clientInternals(client)._parser
  return _stateCounter === 2 ? packet.length - _list.length : 0
}

export function unparsedBytes(client: Client): number {
  return clientInternals(client)._parser._list.length
}

/** Returns the length announced by the fixed header of the current packet. */
export function announcedBytes(client: Client): number {
  return clientInternals(client)._parser.packet.length
}

export function onPacket(client: Client, listener: () => void): void {
  clientInternals(client)._parser.on('packet', listener)
}

/** Calls `read` for each chunk instead of the parser or an earlier `read`; returns the number of bytes not parsed. */
export function readWith(client: Client, read: (chunk: Buffer, parse: (chunk: Buffer) => number) => number): void {
  const { _parser: parser } = clientInternals(client)
  const parse = parser.parse.bind(parser)
  parser.parse = (chunk) => read(chunk, parse)
}

/** Replacements of the parser's steps; each receives the step that it replaces. */
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

/** Adds packets that were read before Aedes to those that it handles, and resets the keepalive timer. */
export function beginPackets(client: Client, count: number): void {
  const internals = clientInternals(client)
  internals._parsingBatch += count
  if (internals._keepaliveInterval > 0) internals._keepaliveTimer?.refresh()
}

/** Ends the handling of `count` of them; after the last packet Aedes continues reading. */
export function endPackets(client: Client, count: number): void {
  const internals = clientInternals(client)
  internals._parsingBatch -= count - 1
  internals._nextBatch()
}

/**
 * Makes writes to a stream never wait: Aedes would make each publisher wait for the slowest subscriber. `onWritten` is
 * called with the bytes of each write, `onPacket` once for each packet, including the responses of Aedes.
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

/** Calls `take` instead of each `read()` by the reader of a stream, with a function that reads a number of bytes. */
export function readStreamWith(stream: Duplex, take: (read: (size?: number) => unknown) => unknown): void {
  const read = stream.read.bind(stream)
  // calls with a number come from the stream machinery itself
  stream.read = (size?: number | null) => (typeof size === 'number' ? read(size) : take(read))
}

/** Replaces the emitter of Aedes: `SubscriptionIndex` passes on messages, after checking the right to read. */
export const NO_EMITTER = {
  on: (_topic: string, _listener: unknown, done?: () => void) => done && setImmediate(done),
  removeListener: (_topic: string, _listener: unknown, done?: () => void) => done && setImmediate(done),
  emit: (_packet: object, done?: () => void) => done?.(),
  close: (done: () => void) => setImmediate(done),
}

/**
 * Completes a message after its acknowledgement: by then it has been routed. Only status messages of Aedes itself
 * ($SYS) are passed on, with client ids as the clients sent them.
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
 * Keeps the list of connected clients correct. Aedes adds a client whose connection ended while its will was stored,
 * and after closing an old connection it removes whichever client has the id.
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
    // a predecessor that is being closed would otherwise be removed after its successor was added
    if (predecessor?.closed) unregisterOnce(predecessor)
    register(client)
  }
}

/**
 * Disables the search for wills of other brokers, which Aedes runs every four minutes after `listen()`. Aedes considers
 * a broker dead if its emitter brings no heartbeat. `NO_EMITTER` passes on none, not even that of this broker, so the
 * search would publish the wills of connected clients. The broker publishes those of an earlier process at its start.
 */
export function searchNoWills(aedes: Aedes): void {
  clearInterval(brokerInternals(aedes)._clearWillInterval)
}

export function setConnectTimeout(aedes: Aedes, timeoutMs: number): void {
  brokerInternals(aedes).connectTimeout = timeoutMs
}

/** Passes retained messages to `deliver`; Aedes would write each immediately and wait for the slowest reader. */
export function deliverRetainedWith(client: Client, deliver: Deliver): void {
  clientInternals(client).deliverQoS = deliver
}

/** Makes mqtt-packet encode numbers when needed, not cache 65,536 buffers: 7 MB for the garbage collector to walk. */
export function writeNumbersUncached(): void {
  writeToStream.cacheNumbers = false
}

/** Returns the stream of a client: a TCP socket, a TLS socket, or the stream of a WebSocket. */
export function streamOf(client: Client): Duplex {
  return client.conn
}
