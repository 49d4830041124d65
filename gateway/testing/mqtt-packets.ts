/**
 * MQTT 3.1.1 packets as bytes, valid and invalid: packets that no client library would send, or would send too slowly.
 */

/** Packet types of MQTT 3.1.1, table 2.1. */
export const PACKET = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
} as const

export const PINGREQ = Buffer.from([0xc0, 0])
export const DISCONNECT = Buffer.from([0xe0, 0])

/** Received packet. */
export interface RawPacket {
  type: number
  flags: number
  body: Buffer
}

/** Text; a buffer for bytes that are not valid text. */
export type Text = string | Buffer

export interface ConnectFields {
  clientId: Text
  username?: Text
  password?: Text
  /** Last will; QoS 1 and retained by default. */
  will?: { topic: Text; payload: string; qos?: number; isRetained?: boolean }
  clean?: boolean
  keepaliveS?: number
  /** Protocol level: 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5. */
  level?: number
}

export function connectPacket(fields: ConnectFields): Buffer {
  const { clientId, username, password, will, clean = true, keepaliveS = 60, level = 4 } = fields
  const flags =
    (clean ? 2 : 0) |
    (will === undefined ? 0 : 4 | ((will.qos ?? 1) << 3) | (will.isRetained === false ? 0 : 32)) |
    (password === undefined ? 0 : 64) |
    (username === undefined ? 0 : 128)
  const payload = [
    level === 5 ? Buffer.from([0]) : Buffer.alloc(0),
    text(clientId),
    ...(will === undefined ? [] : [text(will.topic), text(will.payload)]),
    ...(username === undefined ? [] : [text(username)]),
    ...(password === undefined ? [] : [text(password)]),
  ]
  return connectPacketOf({ protocolName: level === 3 ? 'MQIsdp' : 'MQTT', level, flags, keepaliveS, payload })
}

/** Builds a CONNECT from parts that may be inconsistent. */
export function connectPacketOf({
  protocolName,
  level,
  flags,
  keepaliveS,
  payload,
}: {
  protocolName: Text
  level: number
  flags: number
  keepaliveS: number
  /** Fields after the keepalive. */
  payload: readonly Buffer[]
}): Buffer {
  return packetOf(0x10, text(protocolName), Buffer.from([level, flags]), uint16(keepaliveS), ...payload)
}

export interface PublishOptions {
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

/** Topic filters with the requested QoS; as pairs if one filter occurs twice, or is not text. */
export type Filters = Record<string, number> | readonly (readonly [filter: Text, qos: number])[]

export function subscribePacket(filters: Filters, id = 1): Buffer {
  const pairs = Array.isArray(filters) ? filters : Object.entries(filters)
  return packetOf(0x82, uint16(id), ...pairs.flatMap(([filter, qos]) => [text(filter), Buffer.from([qos])]))
}

/** Builds a SUBSCRIBE to every filter with the same QoS. */
export function subscribeAllPacket(filters: readonly Text[], qos = 1, id = 1): Buffer {
  const pairs = filters.map((filter) => [filter, qos] as const)
  return subscribePacket(pairs, id)
}

export function unsubscribePacket(filters: readonly Text[], id = 1): Buffer {
  return packetOf(0xa2, uint16(id), ...filters.map(text))
}

/** Builds a PUBACK, PUBREC, PUBREL or PUBCOMP. */
export function acknowledgement(type: number, id: number): Buffer {
  return packetOf((type << 4) | (type === PACKET.pubrel ? 2 : 0), uint16(id))
}

/** Returns the packet identifier of a received acknowledgement. */
export function idOf({ body }: RawPacket): number {
  return body.readUInt16BE(0)
}

/** Parses a received PUBLISH; the packet identifier is 0 if absent. */
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

/** Splits received bytes into packets; `rest` is the beginning of an incomplete one. */
export function cutPackets(bytes: Buffer): { packets: RawPacket[]; rest: Buffer } {
  const packets: RawPacket[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    let [length, bodyAt, digit] = [0, at + 1, 128]
    while (digit >= 128 && bodyAt < bytes.length) {
      digit = bytes[bodyAt] ?? 0
      length += (digit & 127) * 128 ** (bodyAt - at - 1)
      bodyAt++
    }
    if (digit >= 128 || bodyAt + length > bytes.length) break
    const first = bytes[at] ?? 0
    packets.push({ type: first >> 4, flags: first & 15, body: bytes.subarray(bodyAt, bodyAt + length) })
    at = bodyAt + length
  }
  return { packets, rest: bytes.subarray(at) }
}

/** Encodes a string as MQTT does: its length in bytes, then the bytes. */
export function text(value: Text): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint16(bytes.length), bytes])
}

/** Builds a packet from its first byte, the correct length [section 2.2.3] and the following bytes. */
export function packetOf(first: number, ...parts: readonly Buffer[]): Buffer {
  const head = [first]
  let rest = parts.reduce((length, part) => length + part.length, 0)
  do {
    head.push(rest >= 128 ? (rest % 128) | 128 : rest)
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.concat([Buffer.from(head), ...parts])
}

export function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255])
}
