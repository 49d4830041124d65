import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecurely } from 'node:tls'
import { createWebSocketStream, WebSocket } from 'ws'
import {
  acknowledgement,
  type ConnectFields,
  connectPacket,
  cutPackets,
  type Filters,
  PACKET,
  PINGREQ,
  type PublishOptions,
  publishPacket,
  type RawPacket,
  subscribePacket,
  type Text,
} from './mqtt-packets.ts'

/** Timeout for expected packets that do not arrive. */
const TIMEOUT_MS = 45_000

/** Raw MQTT connection: for packets that no client library would send, and responses that it would hide. */
export class RawMqtt {
  readonly stream: Duplex
  readonly #packets: RawPacket[] = []
  #unread: Buffer = Buffer.alloc(0)
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(stream: Duplex) {
    this.stream = stream
    stream.on('data', (chunk: Buffer) => {
      const { packets, rest } = cutPackets(Buffer.concat([this.#unread, chunk]))
      this.#packets.push(...packets)
      this.#unread = rest
      this.#wake?.()
    })
    stream.on('error', () => undefined)
    stream.on('close', () => {
      this.#isClosed = true
      this.#wake?.()
    })
    // close immediately when the gateway ends the connection
    stream.on('end', () => stream.destroy())
  }

  /** Connects to an `mqtt`, `mqtts`, `ws` or `wss` address without sending anything. */
  static async open(url: string, trust: { ca?: Buffer } = {}): Promise<RawMqtt> {
    if (url.startsWith('ws')) {
      const socket = new WebSocket(url, 'mqtt', trust)
      await once(socket, 'open')
      return new RawMqtt(createWebSocketStream(socket))
    }
    const { hostname, port } = new URL(url)
    if (url.startsWith('mqtts')) {
      const socket = connectSecurely({ host: hostname, port: Number(port), ...trust })
      await once(socket, 'secureConnect')
      return new RawMqtt(socket)
    }
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new RawMqtt(socket)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(...packets: Buffer[]): void {
    this.stream.write(Buffer.concat(packets))
  }

  /** Sends CONNECT; returns the return code of CONNACK, or null if the connection is closed without one. */
  async login(fields: ConnectFields): Promise<number | null> {
    this.send(connectPacket(fields))
    const packet = await this.nextOrClosed()
    return packet === null ? null : (packet.body[1] ?? null)
  }

  /** Sends SUBSCRIBE; returns the codes of SUBACK. Discards packets that come before it. */
  async subscribe(filters: Filters, id = 1): Promise<number[]> {
    this.send(subscribePacket(filters, id))
    return [...(await this.next(PACKET.suback)).body.subarray(2)]
  }

  /** Publishes and completes the packet exchange of the QoS. */
  async publish(topic: Text, payload: string | Buffer, options: PublishOptions = {}): Promise<void> {
    const { qos = 1, id = 1 } = options
    this.send(publishPacket(topic, payload, options))
    if (qos === 1) await this.next(PACKET.puback)
    if (qos !== 2) return
    await this.next(PACKET.pubrec)
    this.send(acknowledgement(PACKET.pubrel, id))
    await this.next(PACKET.pubcomp)
  }

  /**
   * Returns the next packet of a type and discards those before it. Rejects if the connection ends, or none arrives.
   */
  async next(type?: number): Promise<RawPacket> {
    for (;;) {
      const packet = await this.nextOrClosed()
      if (packet === null) throw new Error('connection closed')
      if (type === undefined || packet.type === type) return packet
    }
  }

  async nextOrClosed(): Promise<RawPacket | null> {
    const endsAtMs = Date.now() + TIMEOUT_MS
    for (;;) {
      const packet = this.#packets.shift()
      if (packet !== undefined) return packet
      if (this.#isClosed) return null
      await this.#arrival(endsAtMs - Date.now())
    }
  }

  /** Returns everything received until the response to a ping. */
  async flush(): Promise<RawPacket[]> {
    this.send(PINGREQ)
    const packets: RawPacket[] = []
    for (;;) {
      const packet = await this.next()
      if (packet.type === PACKET.pingresp) return packets
      packets.push(packet)
    }
  }

  /** Resolves when the gateway has closed the connection; rejects if it does not. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#arrival(TIMEOUT_MS)
  }

  destroy(): void {
    this.stream.destroy()
  }

  #arrival(waitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('nothing came in time')), Math.max(1, waitMs))
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}
