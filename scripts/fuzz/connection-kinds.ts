import type { Random } from '#shared/random.ts'
import {
  acknowledgement,
  connectPacketOf,
  PACKET,
  PINGREQ,
  publishPacket,
  subscribeAllPacket,
  text,
  unsubscribePacket,
} from '#testing/mqtt-packets.ts'
import type { Draft, Kind, Login } from './fuzz-case.ts'
import { loginPacket, samplePacket } from './sample-packets.ts'
import { wildText } from './wild-text.ts'

/** Cases about the connection: the arrival of its bytes, its end, and what it leaves behind. */
export const connectionKinds: readonly Kind[] = [
  {
    name: 'valid',
    weight: 4,
    draft: (_random, device) => ({ ...conversation(device), ending: 'ping' }),
  },
  {
    name: 'split',
    weight: 6,
    draft: (random, device) => {
      const { writes, answers } = conversation(device)
      const whole = Buffer.concat(writes)
      const at = random.integer(1, whole.length - 1)
      const pieces = random.chance(0.8)
        ? [whole.subarray(0, at), whole.subarray(at)]
        : Array.from(whole, (byte) => Buffer.from([byte]))
      return { entry: 'stranger', writes: pieces, answers, ending: 'ping' }
    },
  },
  {
    name: 'half-packet',
    weight: 5,
    draft: (random, device) => {
      const packet = samplePacket(random, random.integer(1, 10), device)
      const half = packet.subarray(0, random.integer(1, packet.length - 1))
      return {
        entry: random.pick(['stranger', 'pipelined', 'welcomed']),
        writes: [half],
        ending: random.pick(['silence', 'reset', 'half-close']),
      }
    },
  },
  {
    name: 'gone',
    weight: 6,
    draft: (random, device) => ({
      entry: random.pick(['stranger', 'pipelined']),
      writes: Array.from({ length: random.integer(0, 6) }, () => samplePacket(random, random.integer(1, 14), device)),
      ending: 'reset',
    }),
  },
  {
    name: 'will',
    weight: 4,
    draft: (random, device) => ({
      entry: 'stranger',
      writes: [willConnect(random, device)],
      ending: random.pick(['reset', 'half-close', 'ping', 'silence']),
    }),
  },
  {
    name: 'takeover',
    weight: 2,
    draft: (random, device) => ({
      entry: random.pick(['pipelined', 'welcomed']),
      writes: [samplePacket(random, PACKET.subscribe, device), PINGREQ],
      ending: random.pick(['reset', 'half-close', 'ping']),
      copies: random.integer(2, 4),
    }),
  },
]

/** Login and every message a device may send, with the expected responses. */
function conversation(device: Login): Required<Pick<Draft, 'entry' | 'writes' | 'answers'>> {
  const own = `dev/${device.hardwareId}`
  const { connack, suback, unsuback, puback, pubrec, pubcomp, pingresp, publish } = PACKET
  return {
    entry: 'stranger',
    writes: [
      loginPacket(device),
      subscribeAllPacket([`${own}/ta`, `${own}/cmd`], 1, 1),
      publishPacket(`${own}/tlm`, '{"speed":7}', { qos: 1, id: 2 }),
      publishPacket(`${own}/st`, '{"online":true}', { qos: 2, id: 3 }),
      acknowledgement(PACKET.pubrel, 3),
      publishPacket(`${own}/tq`, '{"up":1}', { qos: 0 }),
      unsubscribePacket([`${own}/cmd`], 4),
      PINGREQ,
    ],
    answers: [connack, suback, puback, pubrec, pubcomp, publish, unsuback, pingresp],
  }
}

/** Login with a last will that may be one a device is not permitted to publish. */
function willConnect(random: Random, device: Login): Buffer {
  const { hardwareId, password } = device
  const topic = random.chance(0.6) ? `dev/${hardwareId}/st` : wildText(random, hardwareId)
  const payload = random.pick(['{"online":false}', '', 'not JSON', '{'.repeat(500), '\u0000', 'x'.repeat(60_000)])
  const willQos = random.integer(0, 3)
  const flags = 0xc6 | (willQos << 3) | (random.chance(0.3) ? 0x20 : 0)
  const fields = [hardwareId, topic, payload, hardwareId, password].map(text)
  return connectPacketOf({ protocolName: 'MQTT', level: 4, flags, keepaliveS: 10, payload: fields })
}
