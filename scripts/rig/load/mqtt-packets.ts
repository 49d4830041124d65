/** MQTT 3.1.1 packets as bytes, for load where a client library would cost more than the broker. */

/** Quality of service the benchmarks use; QoS 2 is not a device's. */
export type Qos = 0 | 1

/** What a client announces when it connects. */
export interface ConnectFields {
  clientId: string
  username?: string
  password?: string
  cleanSession: boolean
  keepAliveS: number
  will?: { topic: string; payload: string; qos: Qos; retain: boolean }
}

/** One message to publish; `packetId` (1 to 65535) is written at QoS 1 only. */
export interface PublishFields {
  topic: string
  payload: string
  qos: Qos
  retain: boolean
  packetId: number
}

/** Fixed header bytes (packet type and flags) the benchmarks send or read. */
export const PacketHeader = {
  connect: 0x10,
  connack: 0x20,
  publish: 0x30,
  puback: 0x40,
  subscribe: 0x82,
  suback: 0x90,
  disconnect: 0xe0,
} as const

/** Bit of a PUBLISH header that marks a repeated delivery. */
export const DUP_FLAG = 0x08

/** CONNECT. */
export function encodeConnect(fields: ConnectFields): Buffer {
  const { will, username, password } = fields
  let flags = fields.cleanSession ? 0x02 : 0
  const body = [encodeString(fields.clientId)]
  if (will !== undefined) {
    flags |= 0x04 | (will.qos << 3) | (will.retain ? 0x20 : 0)
    body.push(encodeString(will.topic), encodeString(will.payload))
  }
  if (username !== undefined) {
    flags |= 0x80
    body.push(encodeString(username))
  }
  if (password !== undefined) {
    flags |= 0x40
    body.push(encodeString(password))
  }
  const protocolLevel = 4
  const start = [encodeString('MQTT'), Buffer.from([protocolLevel, flags])]
  return encodePacket(PacketHeader.connect, [...start, encodeUint16(fields.keepAliveS), ...body])
}

/** PUBLISH. */
export function encodePublish(fields: PublishFields): Buffer {
  const header = PacketHeader.publish | (fields.qos << 1) | (fields.retain ? 1 : 0)
  const packetId = fields.qos === 0 ? [] : [encodeUint16(fields.packetId)]
  return encodePacket(header, [encodeString(fields.topic), ...packetId, Buffer.from(fields.payload)])
}

/** SUBSCRIBE to every filter. */
export function encodeSubscribe(packetId: number, filters: readonly string[], qos: Qos = 1): Buffer {
  const wanted = filters.flatMap((filter) => [encodeString(filter), Buffer.from([qos])])
  return encodePacket(PacketHeader.subscribe, [encodeUint16(packetId), ...wanted])
}

/** PUBACK. */
export function encodePuback(packetId: number): Buffer {
  return encodePacket(PacketHeader.puback, [encodeUint16(packetId)])
}

/** DISCONNECT: the goodbye that keeps the last will from being sent. */
export function encodeDisconnect(): Buffer {
  return encodePacket(PacketHeader.disconnect, [])
}

function encodePacket(header: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([header]), encodeRemainingLength(body.length), body])
}

function encodeRemainingLength(length: number): Buffer {
  const bytes: number[] = []
  let rest = length
  do {
    const digit = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? digit | 0x80 : digit)
  } while (rest > 0)
  return Buffer.from(bytes)
}

function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([encodeUint16(bytes.length), bytes])
}

function encodeUint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff])
}
