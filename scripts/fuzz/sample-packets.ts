import type { Random } from '#shared/random.ts'
import type { Login } from './fuzz-case.ts'
import {
  acknowledgementOf,
  DISCONNECT,
  encodeNumber,
  encodePacket,
  loginPacket,
  PacketType,
  PINGREQ,
  publishOf,
  subscribeOf,
  unsubscribeOf,
} from './packets.ts'

const PAYLOADS: Record<string, readonly [string, ...string[]]> = {
  tlm: [
    '{"speed":12.5}',
    '{"lat":36.56,"long":-121.94,"battery_voltage":51.2}',
    '[{"speed":1},{"speed":2}]',
    '{',
  ],
  evt: ['{"event":"lock","source":"key"}', '[]'],
  st: ['{"online":true,"fw":"1.2"}', '{"online":false}', ''],
  ack: ['{"id":"c-1","st":"completed"}', '{"cfg":1}'],
  tq: ['{"up":12345}', '{"up":"x"}'],
}
const UPLINKS = ['tlm', 'evt', 'st', 'ack', 'tq'] as const
const DOWNLINKS = ['cmd', 'cfg', 'ta'] as const

/** A PUBLISH the device may send. */
export function somePublish(random: Random, { hardwareId }: Login, qos = random.integer(0, 2)): Buffer {
  const level = random.pick(UPLINKS)
  const payload = random.pick(PAYLOADS[level] ?? ['{}'])
  return publishOf(`dev/${hardwareId}/${level}`, payload, qos, someId(random))
}

/** A packet of the given type (0 to 15) without an error of its own: wrong only where it does not belong. */
export function samplePacket(random: Random, type: number, device: Login): Buffer {
  const own = DOWNLINKS.map((level) => `dev/${device.hardwareId}/${level}`)
  switch (type) {
    case PacketType.connect:
      return loginPacket(device, random.chance(0.8))
    case PacketType.connack:
      return Buffer.from([0x20, 2, random.integer(0, 1), random.integer(0, 5)])
    case PacketType.publish:
      return somePublish(random, device)
    case PacketType.puback:
    case PacketType.pubrec:
    case PacketType.pubrel:
    case PacketType.pubcomp:
      return acknowledgementOf(type, someId(random))
    case PacketType.subscribe:
      return subscribeOf(own.slice(random.integer(0, 2)), random.integer(0, 2), someId(random))
    case PacketType.suback:
      return encodePacket(0x90, encodeNumber(someId(random)), Buffer.from([random.integer(0, 2)]))
    case PacketType.unsubscribe:
      return unsubscribeOf(own.slice(random.integer(0, 2)), someId(random))
    case PacketType.unsuback:
      return encodePacket(0xb0, encodeNumber(someId(random)))
    case PacketType.pingreq:
      return PINGREQ
    case PacketType.disconnect:
      return DISCONNECT
    default:
      return Buffer.from([type << 4, 0])
  }
}

/** A packet id, often one that was used before. */
export function someId(random: Random): number {
  return random.chance(0.7) ? random.integer(1, 4) : random.integer(1, 0xffff)
}
