import type { Login } from './fuzz-case.ts'

/** Packet types of MQTT 3.1.1, table 2.1. */
export const PacketType = {
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

/** A CONNECT made of its parts, right or wrong. */
export interface ConnectParts {
  protocolName: string | Buffer
  level: number
  flags: number
  keepaliveS: number
  /** What follows the keepalive. */
  payload: Buffer
}

/** A packet of a first byte and a body, with the right length. */
export function encodePacket(firstByte: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([firstByte]), encodeLength(body.length), body])
}

/** Remaining length, section 2.2.3. */
function encodeLength(length: number): Buffer {
  const bytes: number[] = []
  let rest = length
  do {
    bytes.push(rest >= 128 ? (rest % 128) | 128 : rest)
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.from(bytes)
}

/** A string with its length before it; its bytes need not be UTF-8. */
export function encodeText(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text).subarray(0, 0xffff)
  return Buffer.concat([encodeNumber(bytes.length), bytes])
}

export function encodeNumber(value: number): Buffer {
  return Buffer.from([(value >> 8) & 255, value & 255])
}

export function connectOf({ protocolName, level, flags, keepaliveS, payload }: ConnectParts): Buffer {
  const start = [encodeText(protocolName), Buffer.from([level, flags]), encodeNumber(keepaliveS)]
  return encodePacket(0x10, ...start, payload)
}

/** The CONNECT that lets a device in. */
export function loginPacket({ hardwareId, password }: Login, isClean = true): Buffer {
  const payload = Buffer.concat([hardwareId, hardwareId, password].map(encodeText))
  const flags = 0xc0 | (isClean ? 2 : 0)
  return connectOf({ protocolName: 'MQTT', level: 4, flags, keepaliveS: 60, payload })
}

export function publishOf(topic: string | Buffer, payload: string | Buffer, qos = 1, id = 1): Buffer {
  const idBytes = qos === 0 ? Buffer.alloc(0) : encodeNumber(id)
  return encodePacket(0x30 | (qos << 1), encodeText(topic), idBytes, Buffer.from(payload))
}

export function subscribeOf(filters: readonly (string | Buffer)[], qos = 1, id = 1): Buffer {
  const wanted = filters.flatMap((filter) => [encodeText(filter), Buffer.from([qos])])
  return encodePacket(0x82, encodeNumber(id), ...wanted)
}

export function unsubscribeOf(filters: readonly (string | Buffer)[], id = 1): Buffer {
  return encodePacket(0xa2, encodeNumber(id), ...filters.map(encodeText))
}

/** PUBACK, PUBREC, PUBREL or PUBCOMP. */
export function acknowledgementOf(type: number, id: number): Buffer {
  return encodePacket((type << 4) | (type === PacketType.pubrel ? 2 : 0), encodeNumber(id))
}
