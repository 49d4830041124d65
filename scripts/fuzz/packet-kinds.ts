import type { Random } from '#shared/random.ts'
import {
  connectPacketOf,
  PACKET,
  packetOf,
  publishPacket,
  subscribeAllPacket,
  text,
  unsubscribePacket,
} from '#testing/mqtt-packets.ts'
import type { Entry, Kind, Login } from './fuzz-case.ts'
import { mutate, randomBytes } from './mutation.ts'
import { samplePacket } from './sample-packets.ts'
import { wildText } from './wild-text.ts'

const ENTRIES: readonly [Entry, ...Entry[]] = ['stranger', 'pipelined', 'welcomed']

/** Cases made of single packets that are wrong in themselves. */
export const packetKinds: readonly Kind[] = [
  {
    name: 'noise',
    weight: 8,
    draft: (random) => {
      const bytes = randomBytes(random, Math.floor(4 ** random.between(0, 5.5)))
      // half of them begin like a packet; otherwise all would end at the first byte
      if (random.chance(0.5)) bytes[0] = random.pick([0x10, 0x30, 0x32, 0x34, 0x40, 0x62, 0x82, 0xa2, 0xc0])
      return { entry: random.pick(ENTRIES), writes: [bytes] }
    },
  },
  {
    name: 'mutation',
    weight: 25,
    draft: (random, device) => {
      const type = random.integer(1, 14)
      const other = samplePacket(random, random.integer(1, 14), device)
      const packet = mutate(random, samplePacket(random, type, device), other)
      const entry = type === PACKET.connect ? 'stranger' : random.pick(ENTRIES)
      return { entry, writes: [packet, ...(random.chance(0.3) ? [other] : [])] }
    },
  },
  {
    name: 'header',
    weight: 8,
    draft: (random, device) => {
      const body = samplePacket(random, random.integer(0, 15), device).subarray(2)
      const packet = packetOf(random.integer(0, 255), random.chance(0.5) ? body : randomBytes(random, 4))
      return { entry: random.pick(ENTRIES), writes: [packet] }
    },
  },
  {
    name: 'connect',
    weight: 10,
    draft: (random, device) => ({ entry: 'stranger', writes: [wildConnect(random, device)] }),
  },
  {
    name: 'text',
    weight: 10,
    draft: (random, { hardwareId }) => {
      const text = wildText(random, hardwareId)
      const packet = random.pick([
        publishPacket(text, '{"speed":1}', { qos: random.integer(0, 2) }),
        subscribeAllPacket([text], random.integer(0, 2)),
        subscribeAllPacket([`dev/${hardwareId}/cmd`, text]),
        unsubscribePacket([text]),
      ])
      return { entry: random.pick(ENTRIES), writes: [packet] }
    },
  },
  {
    name: 'filters',
    weight: 2,
    draft: (random, { hardwareId }) => {
      const count = random.pick([2, 50, 500, 10_000])
      const isRepeated = random.chance(0.3)
      const filters = Array.from({ length: count }, (_, i) =>
        random.chance(0.1) ? `dev/${hardwareId}/cmd` : `f/${isRepeated ? 0 : i}`,
      )
      const packet = random.chance(0.7) ? subscribeAllPacket(filters, random.integer(0, 2)) : unsubscribePacket(filters)
      return { entry: random.pick(['pipelined', 'welcomed']), writes: [packet] }
    },
  },
]

/** CONNECT with parts that the protocol does not allow: names, levels, flags, wills, ids, MQTT 5 properties. */
function wildConnect(random: Random, device: Login): Buffer {
  const { hardwareId, password } = device
  const fieldOr = (right: string) => (random.chance(0.7) ? right : wildText(random, hardwareId))
  const level = random.chance(0.5) ? 4 : random.pick([0, 3, 5, 6, 0x83, 0x84, 255])
  const flags = random.chance(0.5) ? random.pick([0xc2, 0xc0, 0xc6, 0xf6]) : random.integer(0, 255)
  const payload = [text(fieldOr(hardwareId))]
  if (level === 5) payload.unshift(randomBytes(random, random.integer(1, 6)))
  if ((flags & 4) !== 0) {
    const topic = random.chance(0.5) ? `dev/${hardwareId}/st` : wildText(random, hardwareId)
    payload.push(text(topic), text('{"online":false}'))
  }
  if ((flags & 0x80) !== 0) payload.push(text(fieldOr(hardwareId)))
  if ((flags & 0x40) !== 0) payload.push(text(random.chance(0.9) ? password : 'wrong'))
  if (random.chance(0.1)) payload.push(randomBytes(random, 5))
  return connectPacketOf({
    protocolName: random.chance(0.8) ? random.pick(['MQTT', 'MQIsdp']) : wildText(random, hardwareId),
    level,
    flags,
    keepaliveS: random.pick([0, 1, 60, 65_535]),
    payload,
  })
}
