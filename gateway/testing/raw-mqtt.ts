import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecurely } from 'node:tls'
import { createWebSocketStream, WebSocket } from 'ws'

/** Packet types of MQTT 3.1.1, table 2.1. */
export const PACKET = { connack: 2, publish: 3, puback: 4, pubrec: 5, pubcomp: 7, suback: 9, pingresp: 13 }

export interface RawPacket {
  type: number
  flags: number
  body: Buffer
}

interface ConnectFields {
  clientId: string
  username?: string
  password?: string
  will?: { topic: string; payload: string }
  clean?: boolean
  keepaliveS?: number
  /** 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5. */
  level?: number
}

const TIMEOUT_MS = 5_000

/** An MQTT connection made of bytes: for packets no client library would send, and answers it would hide. */
export class RawMqtt {
  readonly stream: Duplex
  readonly #packets: RawPacket[] = []
  #unread = Buffer.alloc(0)
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(stream: Duplex) {
    this.stream = stream
    stream.on('data', (chunk: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, chunk])
      for (let packet = this.#take(); packet !== undefined; packet = this.#take()) this.#packets.push(packet)
      this.#wake?.()
    })
    stream.on('error', () => undefined)
    stream.on('close', () => {
      this.#isClosed = true
      this.#wake?.()
    })
    // a connection that is ended by the gateway is closed at once
    stream.on('end', () => stream.destroy())
  }

  /** Connects to an `mqtt`, `mqtts`, `ws` or `wss` address; nothing is said yet. */
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

  /** Sends CONNECT; returns the return code of CONNACK, or null when the connection is closed without one. */
  async login(fields: ConnectFields): Promise<number | null> {
    this.send(connectPacket(fields))
    const packet = await this.nextOrClosed()
    return packet === null ? null : (packet.body[1] ?? null)
  }

  /** The next packet of a type; those before it are forgotten. Rejects when the connection ends, or after 5 s. */
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

  /** Everything received until the answer to a ping. */
  async flush(): Promise<RawPacket[]> {
    this.send(Buffer.from([0xc0, 0]))
    const packets: RawPacket[] = []
    for (;;) {
      const packet = await this.next()
      if (packet.type === PACKET.pingresp) return packets
      packets.push(packet)
    }
  }

  /** Resolves when the gateway has closed the connection. Rejects after 5 s. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#arrival(TIMEOUT_MS)
  }

  destroy(): void {
    this.stream.destroy()
  }

  #take(): RawPacket | undefined {
    let length = 0
    for (let at = 1; at < Math.min(this.#unread.length, 5); at++) {
      const digit = this.#unread[at] ?? 0
      length += (digit & 127) * 128 ** (at - 1)
      if (digit >= 128) continue
      const endsAt = at + 1 + length
      if (this.#unread.length < endsAt) return undefined
      const first = this.#unread[0] ?? 0
      const body = this.#unread.subarray(at + 1, endsAt)
      this.#unread = this.#unread.subarray(endsAt)
      return { type: first >> 4, flags: first & 15, body }
    }
    return undefined
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

export function connectPacket(fields: ConnectFields): Buffer {
  const { clientId, username, password, will, clean = true, keepaliveS = 60, level = 4 } = fields
  const flags =
    (clean ? 2 : 0) |
    (will === undefined ? 0 : 4 | 8 | 32) |
    (password === undefined ? 0 : 64) |
    (username === undefined ? 0 : 128)
  return packetOf(
    0x10,
    text(level === 3 ? 'MQIsdp' : 'MQTT'),
    Buffer.from([level, flags, keepaliveS >> 8, keepaliveS & 255]),
    level === 5 ? Buffer.from([0]) : Buffer.alloc(0),
    text(clientId),
    ...(will === undefined ? [] : [text(will.topic), text(will.payload)]),
    ...(username === undefined ? [] : [text(username)]),
    ...(password === undefined ? [] : [text(password)]),
  )
}

export function publishPacket(
  topic: string,
  payload: string | Buffer,
  { qos = 1, id = 1, isDup = false, isRetained = false } = {},
): Buffer {
  return packetOf(
    0x30 | (isDup ? 8 : 0) | (qos << 1) | (isRetained ? 1 : 0),
    text(topic),
    qos === 0 ? Buffer.alloc(0) : Buffer.from([id >> 8, id & 255]),
    Buffer.from(payload),
  )
}

export function subscribePacket(filters: Record<string, number>, id = 1): Buffer {
  const topics = Object.entries(filters).flatMap(([topic, qos]) => [text(topic), Buffer.from([qos])])
  return packetOf(0x82, Buffer.from([id >> 8, id & 255]), ...topics)
}

/** Topic and payload of a PUBLISH that was received. */
export function readPublish({ flags, body }: RawPacket): { topic: string; payload: string } {
  const topicEnd = 2 + body.readUInt16BE(0)
  const payloadAt = (flags & 6) === 0 ? topicEnd : topicEnd + 2
  return { topic: body.toString('utf8', 2, topicEnd), payload: body.toString('utf8', payloadAt) }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

function packetOf(first: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  let rest = body.length
  do {
    length.push(rest >= 128 ? (rest % 128) | 128 : rest)
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.concat([Buffer.from([first, ...length]), body])
}
