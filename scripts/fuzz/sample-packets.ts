import { loginOf } from '#scripts/rig/gateway-api.ts'
import type { Random } from '#shared/random.ts'
import {
  acknowledgement,
  connectPacket,
  DISCONNECT,
  PACKET,
  PINGREQ,
  packetOf,
  publishPacket,
  subscribeAllPacket,
  uint16,
  unsubscribePacket,
} from '#testing/mqtt-packets.ts'
import type { Login } from './fuzz-case.ts'

const PAYLOADS: Record<string, readonly [string, ...string[]]> = {
  tlm: ['{"speed":12.5}', '{"lat":36.56,"long":-121.94,"battery_voltage":51.2}', '[{"speed":1},{"speed":2}]', '{'],
  evt: ['{"event":"lock","source":"key"}', '[]'],
  st: ['{"online":true,"fw":"1.2"}', '{"online":false}', ''],
  ack: ['{"id":"c-1","st":"completed"}', '{"cfg":1}', '{"key":1}'],
  tq: ['{"up":12345}', '{"up":"x"}'],
  call: ['{"call":"help","cid":"17-3"}', '{"call":"cancel","cid":"17-3"}', '{"call":7}'],
}
const UPLINKS = ['tlm', 'evt', 'st', 'ack', 'tq', 'call'] as const
const DOWNLINKS = ['cmd', 'cfg', 'ta', 'key'] as const

/** Valid CONNECT of a device. */
export function loginPacket(device: Login, clean = true): Buffer {
  return connectPacket({ ...loginOf(device), clean })
}

/** PUBLISH that the device may send. */
export function somePublish(random: Random, { hardwareId }: Login, qos = random.integer(0, 2)): Buffer {
  const level = random.pick(UPLINKS)
  const payload = random.pick(PAYLOADS[level] ?? ['{}'])
  return publishPacket(`dev/${hardwareId}/${level}`, payload, { qos, id: someId(random) })
}

/** Placeholder for the time at which a case is run, which differs on every run. */
const NOW = '1111111111111'

/** Returns the writes with the time in place of `NOW`, wherever they are split. */
export function datedWrites(writes: readonly Buffer[], nowMs: number): Buffer[] {
  const bytes = Buffer.concat(writes)
  for (let at = bytes.indexOf(NOW); at >= 0; at = bytes.indexOf(NOW, at + 1)) bytes.write(String(nowMs), at)
  let from = 0
  return writes.map(({ length }) => {
    from += length
    return bytes.subarray(from - length, from)
  })
}

/** PUBLISH in the most common form of carts: one reading with its time, QoS 1. */
export function plainPublish(random: Random, { hardwareId }: Login, id = random.integer(1, 0xffff)): Buffer {
  const rest = { lat: 36.56, long: -121.94, speed: random.integer(0, 300) / 10 }
  const payload = JSON.stringify({ ts: Number(NOW), ...rest })
  return publishPacket(`dev/${hardwareId}/tlm`, payload, { id })
}

/** Packet of the given type (0 to 15) without an error of its own: wrong only in its position. */
export function samplePacket(random: Random, type: number, device: Login): Buffer {
  const own = DOWNLINKS.map((level) => `dev/${device.hardwareId}/${level}`)
  switch (type) {
    case PACKET.connect:
      return loginPacket(device, random.chance(0.8))
    case PACKET.connack:
      return Buffer.from([0x20, 2, random.integer(0, 1), random.integer(0, 5)])
    case PACKET.publish:
      return somePublish(random, device)
    case PACKET.puback:
    case PACKET.pubrec:
    case PACKET.pubrel:
    case PACKET.pubcomp:
      return acknowledgement(type, someId(random))
    case PACKET.subscribe:
      return subscribeAllPacket(own.slice(random.integer(0, 2)), random.integer(0, 2), someId(random))
    case PACKET.suback:
      return packetOf(0x90, uint16(someId(random)), Buffer.from([random.integer(0, 2)]))
    case PACKET.unsubscribe:
      return unsubscribePacket(own.slice(random.integer(0, 2)), someId(random))
    case PACKET.unsuback:
      return packetOf(0xb0, uint16(someId(random)))
    case PACKET.pingreq:
      return PINGREQ
    case PACKET.disconnect:
      return DISCONNECT
    default:
      return Buffer.from([type << 4, 0])
  }
}

/** Packet id, often one that was used before. */
export function someId(random: Random): number {
  return random.chance(0.7) ? random.integer(1, 4) : random.integer(1, 0xffff)
}
