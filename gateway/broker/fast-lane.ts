import type { Client } from 'aedes'
import type { BrokerPort, TelemetryRun } from '#domain/broker-port.ts'
import { isAtPacket, missingBytes, readWith, unparsedBytes } from './aedes-internals.ts'
import type { Connection, Identity } from './connection.ts'
import type { LiveMessage } from './delivery.ts'
import type { BrokerBudgets } from './limits.ts'
import type { Sessions } from './mqtt-sessions/sessions.ts'

/** Limit of payloads for the lane. */
const MAX_PAYLOAD_BYTES = 1024
/** First byte of PUBLISH with QoS 1, neither duplicate nor retained. */
const PLAIN_PUBLISH = 0x32
const PACKET_ID_BYTES = 2
/** Maximum bytes of an encoded length. */
const LENGTH_BYTES = 4
/** Limit of topic, packet identifier and payload. */
const MAX_PACKET_BYTES = MAX_PAYLOAD_BYTES + 256

interface FastLaneDeps<Login> {
  port: () => BrokerPort<Login>
  sessions: Sessions
  budgets: Pick<BrokerBudgets, 'messages'>
  maxPayloadBytes: number
  deliver: (message: LiveMessage) => void
  refuse: (client: Client, reason: string, topic: string) => void
}

/**
 * Admission rule: adds the packet at `at` to the run if it is for the fast lane, and returns its end; 0 if Aedes must
 * read it. It must be complete, a plain PUBLISH of QoS 1 to the device's own telemetry topic (`topic`, preceded by its
 * length), with a packet identifier and a payload of one reading that can be used unchanged (`run.add`).
 */
function admit(bytes: Buffer, at: number, topic: Buffer, maxPayloadBytes: number, run: TelemetryRun): number {
  const first = bytes[at + 1]
  if (bytes[at] !== PLAIN_PUBLISH || first === undefined) return 0
  const second = first < 128 ? 0 : (bytes[at + 2] ?? 0)
  // a length in three bytes is too long, or not minimal
  if (first >= 128 && (second === 0 || second >= 128)) return 0
  const topicAt = at + (first < 128 ? 2 : 3)
  const endsAt = topicAt + (first & 127) + second * 128
  const payloadAt = topicAt + topic.length + PACKET_ID_BYTES
  if (endsAt > bytes.length || payloadAt > endsAt || endsAt - payloadAt > maxPayloadBytes) return 0
  for (let i = 0; i < topic.length; i++) if (bytes[topicAt + i] !== topic[i]) return 0
  // [MQTT-2.3.1-1]
  if (bytes[payloadAt - 2] === 0 && bytes[payloadAt - 1] === 0) return 0
  return run.add(payloadAt, endsAt) ? endsAt : 0
}

/**
 * Fast lane of one connection: reads a device's plain telemetry before Aedes, many messages at a time, has them stored
 * and acknowledges them together. Everything else goes to Aedes. So does everything while a message read by Aedes is
 * being stored, because acknowledgements must have the order of the messages [MQTT-4.6.0-2].
 */
export class FastLane<Login> {
  readonly #deps: FastLaneDeps<Login>
  readonly #connection: Connection<Login>
  /** Beginning of a packet that may be for the lane. */
  #held: Buffer | undefined
  #topic: { name: string; bytes: Buffer } | undefined
  /** Version of the subscriptions in which the topic had no subscriber. */
  #unreadVersion = -1

  constructor(connection: Connection<Login>, deps: FastLaneDeps<Login>) {
    this.#connection = connection
    this.#deps = deps
  }

  /** Processes what it can of a chunk; returns the bytes for Aedes, possibly none. */
  read(chunk: Buffer): Buffer {
    const { identity, client } = this.#connection
    const topic = identity === undefined ? undefined : this.#topicOf(identity)
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = undefined
    if (identity === undefined || topic === undefined || !isAtPacket(client)) return bytes
    const from = this.#connection.storing === 0 ? this.#take(bytes, identity, topic) : 0
    const to = completePacketsEnd(bytes, from)
    if (!startsOnLane(bytes, to, PLAIN_PUBLISH, MAX_PACKET_BYTES)) return bytes.subarray(from)
    // a copy, because the chunk may be much larger
    this.#held = Buffer.from(bytes.subarray(to))
    return bytes.subarray(from, to)
  }

  #topicOf({ login }: Identity<Login>): { name: string; bytes: Buffer } | undefined {
    if (this.#topic !== undefined) return this.#topic
    const name = this.#deps.port().telemetryTopic(login)
    if (name === undefined) return undefined
    const bytes = Buffer.from(`\0\0${name}`)
    bytes.writeUInt16BE(bytes.length - 2)
    this.#topic = { name, bytes }
    return this.#topic
  }

  /** Processes the packets for the lane at the beginning; returns the offset of the rest. */
  #take(bytes: Buffer, { login, owner }: Identity<Login>, topic: { name: string; bytes: Buffer }): number {
    const readers = this.#readersOf(topic.name)
    if (readers === 'kept') return 0
    const connection = this.#connection
    const stored = (from: number, count: number) => {
      connection.running -= count
      if (readers === 'some') this.#deliver(topic.name, bytes, run, from, count)
      this.#acknowledge(bytes, run, from, count)
    }
    const refused = (reason: string, count: number) => {
      connection.running -= count
      for (let i = 0; i < count; i++) this.#deps.refuse(connection.client, reason, topic.name)
      connection.client.emit('error', new Error(reason))
    }
    const begun = this.#deps.port().beginRun(login, bytes, stored, refused)
    if (begun === undefined) return 0
    const run: TelemetryRun = begun
    const maxPayloadBytes = Math.min(MAX_PAYLOAD_BYTES, this.#deps.maxPayloadBytes)
    let at = 0
    let payloadBytes = 0
    for (;;) {
      const endsAt = admit(bytes, at, topic.bytes, maxPayloadBytes, run)
      if (endsAt === 0) break
      payloadBytes += endsAt - run.startOf(run.rows - 1)
      at = endsAt
    }
    if (run.rows === 0) return 0
    connection.receivedRun(run.rows, payloadBytes)
    connection.running += run.rows
    this.#deps.budgets.messages.spend(owner, run.rows)
    run.end()
    return at
  }

  /** Subscribers of the topic: none, connected ones, or persistent sessions, whose queue changes must be stored too. */
  #readersOf(topic: string): 'none' | 'some' | 'kept' {
    const { sessions, port } = this.#deps
    const { subscriptionVersion } = sessions
    if (subscriptionVersion === this.#unreadVersion) return 'none'
    if (sessions.match(topic, () => true).size === 0) {
      this.#unreadVersion = subscriptionVersion
      return 'none'
    }
    const readers = sessions.match(topic, (owner) => port().canRead(owner, topic))
    for (const [{ isPersistent }, qos] of readers) if (isPersistent && qos > 0) return 'kept'
    return readers.size > 0 ? 'some' : 'none'
  }

  #deliver(topic: string, bytes: Buffer, run: TelemetryRun, from: number, count: number): void {
    for (let i = from; i < from + count; i++) {
      // a copy, because it may wait for its reader
      const payload = Buffer.from(bytes.subarray(run.startOf(i), run.endOf(i)))
      this.#deps.deliver({ topic, payload, qos: 1 })
    }
  }

  #acknowledge(bytes: Buffer, run: TelemetryRun, from: number, count: number): void {
    const packets = Buffer.allocUnsafe(4 * count)
    for (let i = 0; i < count; i++) {
      const payloadAt = run.startOf(from + i)
      packets[4 * i] = 0x40
      packets[4 * i + 1] = PACKET_ID_BYTES
      packets[4 * i + 2] = bytes[payloadAt - 2] ?? 0
      packets[4 * i + 3] = bytes[payloadAt - 1] ?? 0
    }
    this.#connection.sendAcknowledgements(packets, count)
  }
}

/** Passes the bytes of a client through its lane before Aedes reads them. */
export function readInFrontOf<Login>(client: Client, lane: () => FastLane<Login>): void {
  readWith(client, (chunk, parse) => {
    // the lane resumes after a packet that Aedes has begun to read
    const missing = missingBytes(client)
    const isWithin = missing > 0 && missing < chunk.length
    if (isWithin) parse(chunk.subarray(0, missing))
    const rest = lane().read(isWithin ? chunk.subarray(missing) : chunk)
    return rest.length === 0 ? unparsedBytes(client) : parse(rest)
  })
}

/** Returns the end of the packet at `at`; undefined if its length is incomplete, NaN if it is invalid. */
function endOf(bytes: Buffer, at: number): number | undefined {
  let length = 0
  for (let i = 0; i < LENGTH_BYTES; i++) {
    const digit = bytes[at + 1 + i]
    if (digit === undefined) return undefined
    length += (digit & 127) * 128 ** i
    if (digit < 128) return at + 2 + i + length
  }
  return Number.NaN
}

/** Returns the end of the last complete packet from `at` on; the end of the bytes if a length is invalid. */
function completePacketsEnd(bytes: Buffer, at: number): number {
  let wholeTo = at
  while (wholeTo < bytes.length) {
    const endsAt = endOf(bytes, wholeTo)
    if (endsAt === undefined || endsAt > bytes.length) return wholeTo
    if (Number.isNaN(endsAt)) return bytes.length
    wholeTo = endsAt
  }
  return wholeTo
}

/** True if the bytes received so far begin a packet with that first byte, and not longer than allowed. */
function startsOnLane(bytes: Buffer, at: number, firstByte: number, maxBytes: number): boolean {
  if (bytes[at] !== firstByte) return false
  const endsAt = endOf(bytes, at)
  return endsAt === undefined || endsAt - at <= maxBytes
}
