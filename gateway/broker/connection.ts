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

/** Limit of unread bytes above which a client receives no new messages. */
const BUSY_BYTES = 65_536

/** Identity of the client, once it has logged in. */
export interface Identity<Login> {
  login: Login
  owner: string
  session: Session
}

export interface ConnectionOptions {
  /** Called with the result of the login; for a failed one, `onLoginFailed` returns the delay of the response in ms. */
  onLoggedIn: () => void
  onLoginFailed: (userName: string | undefined) => number
  address: string
  transport: MqttTransport
  monotonicMs: () => number
  /** Totals of all connections. */
  traffic: { received: Traffic; sent: Traffic }
  bufferedBytes: () => number
  maxUnreadBytes: number
  onCut: () => void
}

/**
 * Network connection of a client: its writes, and the bytes not yet read. Writes never wait, so a slow client harms
 * only itself; Aedes would make every publisher wait for the slowest subscriber.
 */
export class Connection<Login> implements SessionConnection, IdHolder {
  readonly client: Client
  readonly address: string
  readonly transport: MqttTransport
  identity: Identity<Login> | undefined
  /** Owner, set when the login is decided, which is before `identity`. */
  owner: string | undefined
  /** True if it counts towards the connections of its owner. */
  isCounted = false
  /** True if the broker chose the client id. */
  isUnnamed = false
  /** Topic filters it was allowed to subscribe to. */
  readonly granted = new Set<string>()
  /** Topic filters of subscriptions that the port was notified of. */
  readonly announced = new Set<string>()
  /** Number of messages being stored: those read by Aedes, and (`running`) those of the fast lane. */
  storing = 0
  running = 0
  readonly received = new Meter(performance.now())
  readonly sent = new Meter(performance.now())
  /** Number of messages not sent because the client had not read earlier ones. */
  skipped = 0
  /** Number of times that reading was paused. */
  throttled = 0
  connectedAtMs = 0
  keepaliveS = 0
  lastByteAtMs: number
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
    this.lastByteAtMs = options.monotonicMs()
    this.#countPackets(options)
  }

  get isReady(): boolean {
    return isReady(this.client)
  }

  get unreadBytes(): number {
    return this.#stream.writableLength + this.#bufferedBytes()
  }

  hasRoom(): boolean {
    // of the stream only, and only past its high-water mark, because below it the stream emits no drain
    const { writableLength, writableHighWaterMark } = this.#stream
    return writableLength < Math.max(BUSY_BYTES, writableHighWaterMark)
  }

  /** Calls `done` once the client has read, or is gone. */
  whenRead(done: () => void): void {
    if (this.hasRoom() || this.#stream.destroyed) done()
    else this.#stream.once('drain', done)
  }

  onRead(listener: () => void): void {
    this.#stream.on('drain', listener)
  }

  receivedPublish({ qos, payload }: { qos: 0 | 1 | 2; payload: Buffer | string }): void {
    this.received.messages++
    this.received.bytes += payload.length
    this.#traffic.received.publish(qos, payload.length)
  }

  /** Counts messages of the fast lane, and updates Aedes accordingly. */
  receivedRun(count: number, bytes: number): void {
    this.received.messages += count
    this.received.bytes += bytes
    this.#traffic.received.publishRun(count, bytes)
    beginPackets(this.client, count)
  }

  /** Sends PUBACKs for `count` messages of the fast lane and continues reading. */
  sendAcknowledgements(packets: Buffer, count: number): void {
    if (this.client.closed || this.#stream.destroyed) return
    this.#traffic.sent.packets += count
    this.#stream.write(packets)
    endPackets(this.client, count)
  }

  sendPublish({ packetId, message, wasSent }: OutboxEntry): void {
    const { topic, payload, qos, isRetained } = message
    // written by this program, so it is 0, 1 or 2
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

  sendOnce(topic: string, payload: Buffer | string, retain: boolean): boolean {
    if (!this.hasRoom()) {
      this.skipped++
      return false
    }
    this.#publish({ topic, payload, qos: 0, retain, dup: false })
    return true
  }

  /** Returns the highest QoS of all its subscriptions that match a topic [MQTT-3.3.5-1]; 0 if none does. */
  grantedQos(topic: string): number {
    return this.subscribedQos(topic) ?? 0
  }

  /** Returns the highest QoS as `grantedQos`; undefined if no subscription matches the topic. */
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
      this.lastByteAtMs = monotonicMs()
      return parse(chunk)
    })
    neverWaitForDrain(this.#stream, {
      onPacket: () => sent.packets++,
      onWritten: (bytes) => {
        sent.packetBytes += bytes
        // Aedes responds (PUBACK, PINGRESP) without checking for room: a client that never reads is closed
        if (this.unreadBytes <= maxUnreadBytes || this.#stream.destroyed) return
        onCut()
        this.#stream.destroy()
      },
    })
  }
}
