import { once } from 'node:events'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecurely } from 'node:tls'
import { createWebSocketStream, WebSocket } from 'ws'

/** Packet types of MQTT 3.1.1, table 2.1. */
export const PACKET = {
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  suback: 9,
  unsuback: 11,
  pingresp: 13,
}

export interface RawPacket {
  type: number
  flags: number
  body: Buffer
}

/** Buffers are for bytes that are no text. */
type Text = string | Buffer

export interface ConnectFields {
  clientId: Text
  username?: Text
  password?: Text
  /** QoS 1 and retained unless told. */
  will?: { topic: Text; payload: string; qos?: number; isRetained?: boolean }
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

  /** Sends SUBSCRIBE; returns the codes of SUBACK. Packets that come before it are forgotten. */
  async subscribe(filters: Filters, id = 1): Promise<number[]> {
    this.send(subscribePacket(filters, id))
    return [...(await this.next(PACKET.suback)).body.subarray(2)]
  }

  /** Publishes and completes the exchange of packets that belongs to the QoS. */
  async publish(topic: Text, payload: string | Buffer, options: PublishOptions = {}): Promise<void> {
    const { qos = 1, id = 1 } = options
    this.send(publishPacket(topic, payload, options))
    if (qos === 1) await this.next(PACKET.puback)
    if (qos !== 2) return
    await this.next(PACKET.pubrec)
    this.send(acknowledgement(PACKET.pubrel, id))
    await this.next(PACKET.pubcomp)
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
    (will === undefined ? 0 : 4 | ((will.qos ?? 1) << 3) | (will.isRetained === false ? 0 : 32)) |
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

interface PublishOptions {
  qos?: number
  id?: number
  isDup?: boolean
  isRetained?: boolean
}

export function publishPacket(
  topic: Text,
  payload: string | Buffer,
  { qos = 1, id = 1, isDup = false, isRetained = false }: PublishOptions = {},
): Buffer {
  return packetOf(
    0x30 | (isDup ? 8 : 0) | (qos << 1) | (isRetained ? 1 : 0),
    text(topic),
    qos === 0 ? Buffer.alloc(0) : uint16(id),
    Buffer.from(payload),
  )
}

/** Topic filters with the QoS asked for; as pairs where one filter comes twice, or is no text. */
type Filters = Record<string, number> | readonly (readonly [filter: Text, qos: number])[]

export function subscribePacket(filters: Filters, id = 1): Buffer {
  const pairs = Array.isArray(filters) ? filters : Object.entries(filters)
  return packetOf(0x82, uint16(id), ...pairs.flatMap(([filter, qos]) => [text(filter), Buffer.from([qos])]))
}

export function unsubscribePacket(filters: readonly Text[], id = 1): Buffer {
  return packetOf(0xa2, uint16(id), ...filters.map(text))
}

/** PUBACK, PUBREC, PUBREL or PUBCOMP. */
export function acknowledgement(type: number, id: number): Buffer {
  return packetOf((type << 4) | (type === PACKET.pubrel ? 2 : 0), uint16(id))
}

/** The packet identifier of an acknowledgement that was received. */
export function idOf({ body }: RawPacket): number {
  return body.readUInt16BE(0)
}

/** What a PUBLISH that was received says; the packet identifier is 0 where there is none. */
export function readPublish({ flags, body }: RawPacket): {
  topic: string
  payload: string
  qos: number
  id: number
  isDup: boolean
  isRetained: boolean
} {
  const topicEnd = 2 + body.readUInt16BE(0)
  const qos = (flags >> 1) & 3
  return {
    topic: body.toString('utf8', 2, topicEnd),
    payload: body.toString('utf8', qos === 0 ? topicEnd : topicEnd + 2),
    qos,
    id: qos === 0 ? 0 : body.readUInt16BE(topicEnd),
    isDup: (flags & 8) !== 0,
    isRetained: (flags & 1) !== 0,
  }
}

/** A string as MQTT writes it: its length in bytes, then the bytes. */
export function text(value: Text): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint16(bytes.length), bytes])
}

/** A packet of a first byte and whatever is to follow its length. */
export function packetOf(first: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  let rest = body.length
  do {
    length.push(rest >= 128 ? (rest % 128) | 128 : rest)
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.concat([Buffer.from([first, ...length]), body])
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255])
}
