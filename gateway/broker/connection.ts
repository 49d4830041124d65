import type { Duplex } from 'node:stream'
import type { Client } from 'aedes'
import { type Packet, writeToStream } from 'mqtt-packet'
import { matchesTopic } from '#domain/mqtt-topics.ts'
import type { MqttTransport } from '#shared/mqtt-status.ts'
import {
  beginPackets,
  endPackets,
  isReady,
  neverWaitForDrain,
  onPacket,
  readWith,
  streamOf,
  subscriptionsOf,
} from './aedes-internals.ts'
import type { IdHolder } from './id-contest.ts'
import type { OutboxEntry } from './mqtt-sessions/outbox.ts'
import type { Session, SessionConnection } from './mqtt-sessions/session.ts'
import { Meter } from './rate-meter.ts'
import type { Traffic } from './traffic.ts'

/** Unread bytes from which on a client gets nothing new. */
const BUSY_BYTES = 65_536

/** Who is at the other end, once it has logged in. */
export interface Identity<Login> {
  login: Login
  owner: string
  session: Session
}

export interface ConnectionOptions {
  /** What becomes of its login: a failed one is left without an answer for so many milliseconds. */
  onLoggedIn: () => void
  onLoginFailed: (userName: string | undefined) => number
  address: string
  transport: MqttTransport
  monotonicMs: () => number
  /** What all connections send and receive together. */
  traffic: { received: Traffic; sent: Traffic }
  /** Bytes that are written but not yet taken by the network, beyond the stream's own. */
  bufferedBytes: () => number
  /** Unread bytes after which a client is cut off. */
  maxUnreadBytes: number
  onCut: () => void
}

/**
 * One network connection: what is written to it, and what of that its reader has not taken. Writing never waits, so a
 * client that reads slowly harms only itself; Aedes would make every publisher wait for the slowest subscriber.
 */
export class Connection<Login> implements SessionConnection, IdHolder {
  readonly client: Client
  readonly address: string
  readonly transport: MqttTransport
  identity: Identity<Login> | undefined
  /** Whose it is, from the moment its login has been judged: before `identity`. */
  owner: string | undefined
  /** It counts among those of its owner. */
  isCounted = false
  /** The client id was left to the broker. */
  isUnnamed = false
  /** Topic filters it was let subscribe to. */
  readonly granted = new Set<string>()
  /** Topic filters whose messages reach it, as far as the port was told. */
  readonly announced = new Set<string>()
  /** Messages that are on their way to the disk: those that Aedes has read, and those of the fast lane. */
  storing = 0
  running = 0
  readonly received = new Meter(performance.now())
  readonly sent = new Meter(performance.now())
  /** Messages that were left out because the client had not read what came before. */
  skipped = 0
  /** Times it was not read for a while. */
  throttled = 0
  connectedAtMs = 0
  keepaliveS = 0
  heardAtMs: number
  takeovers: IdHolder['takeovers'] = []
  contestedAtMs = Number.NEGATIVE_INFINITY
  readonly onLoggedIn: ConnectionOptions['onLoggedIn']
  readonly onLoginFailed: ConnectionOptions['onLoginFailed']
  readonly #stream: Duplex
  readonly #bufferedBytes: () => number
  readonly #traffic: ConnectionOptions['traffic']

  constructor(client: Client, options: ConnectionOptions) {
    this.client = client
    this.address = options.address
    this.onLoggedIn = options.onLoggedIn
    this.onLoginFailed = options.onLoginFailed
    this.transport = options.transport
    this.#traffic = options.traffic
    this.#stream = streamOf(client)
    this.#bufferedBytes = options.bufferedBytes
    this.heardAtMs = options.monotonicMs()
    this.#countPackets(options)
  }

  get isReady(): boolean {
    return isReady(this.client)
  }

  get unreadBytes(): number {
    return this.#stream.writableLength + this.#bufferedBytes()
  }

  hasRoom(): boolean {
    // of the stream alone, and not below its own mark: only past that it says when it has been read
    const { writableLength, writableHighWaterMark } = this.#stream
    return writableLength < Math.max(BUSY_BYTES, writableHighWaterMark)
  }

  /** Calls back once the client has read on, or is gone. */
  whenRead(done: () => void): void {
    if (this.hasRoom() || this.#stream.destroyed) done()
    else this.#stream.once('drain', done)
  }

  onRead(listener: () => void): void {
    this.#stream.on('drain', listener)
  }

  /** A PUBLISH packet has come. */
  receivedPublish({ qos, payload }: { qos: 0 | 1 | 2; payload: Buffer | string }): void {
    this.received.messages++
    this.received.bytes += payload.length
    this.#traffic.received.publish(qos, payload.length)
  }

  /** As many have come on the fast lane: Aedes hears of them what it has to know. */
  receivedRun(count: number, bytes: number): void {
    this.received.messages += count
    this.received.bytes += bytes
    this.#traffic.received.publishRun(count, bytes)
    beginPackets(this.client, count)
  }

  /** Sends as many PUBACKs for messages of the fast lane; then more is read. */
  sendAcknowledgements(packets: Buffer, count: number): void {
    if (this.client.closed || this.#stream.destroyed) return
    this.#traffic.sent.packets += count
    this.#stream.write(packets)
    endPackets(this.client, count)
  }

  sendPublish({ packetId, message, wasSent }: OutboxEntry): void {
    const { topic, payload, qos, isRetained } = message
    // written by this program, so it is one of the three
    this.#publish({
      topic,
      payload,
      qos: qos as 1 | 2,
      retain: isRetained,
      dup: wasSent,
      messageId: packetId,
    })
  }

  sendRelease(packetId: number): void {
    this.#write({ cmd: 'pubrel', messageId: packetId })
  }

  /** Sends a QoS 0 message, unless the client has not read what came before. */
  sendOnce(topic: string, payload: Buffer | string, retain: boolean): boolean {
    if (!this.hasRoom()) {
      this.skipped++
      return false
    }
    this.#publish({ topic, payload, qos: 0, retain, dup: false })
    return true
  }

  /** The highest QoS of all its subscriptions that take in a topic [MQTT-3.3.5-1]; 0 when none does. */
  grantedQos(topic: string): number {
    return this.subscribedQos(topic) ?? 0
  }

  /** The same; undefined when no subscription takes in the topic. */
  subscribedQos(topic: string): number | undefined {
    let granted: number | undefined
    const subscriptions = subscriptionsOf(this.client)
    for (const filter in subscriptions) {
      const qos = subscriptions[filter]?.qos ?? 0
      if ((granted === undefined || qos > granted) && matchesTopic(filter, topic)) granted = qos
    }
    return granted
  }

  /** True once the port was notified of a subscription that matches the topic. */
  isAnnounced(topic: string): boolean {
    return [...this.announced].some((filter) => matchesTopic(filter, topic))
  }

  #publish(packet: {
    topic: string
    payload: Uint8Array | string
    qos: 0 | 1 | 2
    retain: boolean
    dup: boolean
    messageId?: number
  }): void {
    const { payload } = packet
    const bytes =
      typeof payload === 'string' ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
    this.sent.messages++
    this.sent.bytes += payload.length
    this.#traffic.sent.publish(packet.qos, payload.length)
    this.#write({ ...packet, cmd: 'publish', payload: bytes })
  }

  #write(packet: Packet): void {
    if (!this.client.closed && !this.#stream.destroyed) writeToStream(packet, this.#stream)
  }

  #countPackets({ monotonicMs, maxUnreadBytes, onCut }: ConnectionOptions): void {
    const { received, sent } = this.#traffic
    onPacket(this.client, () => received.packets++)
    readWith(this.client, (chunk, parse) => {
      received.packetBytes += chunk.length
      this.heardAtMs = monotonicMs()
      return parse(chunk)
    })
    neverWaitForDrain(this.#stream, {
      onPacket: () => sent.packets++,
      onWritten: (bytes) => {
        sent.packetBytes += bytes
        // Aedes' answers (PUBACK, PINGRESP) are written without asking for room: a client that never reads them is cut
        // off
        if (this.unreadBytes <= maxUnreadBytes || this.#stream.destroyed) return
        onCut()
        this.#stream.destroy()
      },
    })
  }
}
