import type { Random } from '#shared/random.ts'
import { packetOf, publishPacket, subscribeAllPacket, text, uint16, unsubscribePacket } from '#testing/mqtt-packets.ts'
import type { Kind, Login } from './fuzz-case.ts'
import { randomBytes } from './mutation.ts'
import { loginPacket, samplePacket, someId } from './sample-packets.ts'
import { illFormedText } from './wild-text.ts'

/** Cases with only one correct response. */
export const violationKinds: readonly Kind[] = [
  {
    name: 'violation',
    weight: 8,
    draft: (random, device) => ({
      entry: random.pick(['pipelined', 'welcomed']),
      writes: [violation(random, device)],
      ending: 'close-expected',
    }),
  },
]

/** Returns a packet after which, following a login, the specification requires the connection to be closed. */
function violation(random: Random, device: Login): Buffer {
  const { hardwareId } = device
  const own = `dev/${hardwareId}`
  const id = someId(random)
  return random.pick<() => Buffer>([
    // [MQTT-3.1.0-2]
    () => loginPacket(device),
    // packets only a server sends, and types that do not exist
    () => samplePacket(random, random.pick([0, 2, 9, 11, 13, 15]), device),
    // [MQTT-3.3.1-4]
    () => packetOf(0x36, text(`${own}/tlm`), uint16(id), Buffer.from('{}')),
    // [MQTT-2.2.2-2]
    () => packetOf(random.pick([0x80, 0x81, 0x8a]), uint16(id), text(`${own}/cmd`), Buffer.from([0])),
    () => packetOf(random.pick([0xa0, 0xa1]), uint16(id), text(`${own}/cmd`)),
    () => packetOf(random.pick([0x41, 0x52, 0x60, 0x74, 0xc1, 0xe8])),
    // [MQTT-2.3.1-1]
    () => publishPacket(`${own}/tlm`, '{"speed":1}', { qos: random.integer(1, 2), id: 0 }),
    () => subscribeAllPacket([`${own}/cmd`], 1, 0),
    () => unsubscribePacket([`${own}/cmd`], 0),
    // [MQTT-3.8.3-3] and [MQTT-3.10.3-2]
    () => subscribeAllPacket([], 1, id),
    () => unsubscribePacket([], id),
    // [MQTT-3.8.3-4]
    () => subscribeAllPacket([`${own}/cmd`], random.pick([3, 4, 0x80, 0xff]), id),
    // [MQTT-3.3.2-2], and a topic of at least one character [MQTT-4.7.3-1]
    () =>
      publishPacket(random.pick(['', '#', '+', `${own}/+`, `${own}/#`]), '{}', {
        qos: random.integer(0, 2),
        id,
      }),
    () => subscribeAllPacket([''], 1, id),
    () => unsubscribePacket([''], id),
    // [MQTT-4.7.1-2] and [MQTT-4.7.1-3]
    () => subscribeAllPacket([random.pick([`${own}/c#`, `${own}/#/x`, `${own}/c+d/x`])], 1, id),
    // [MQTT-1.5.3-1], [MQTT-1.5.3-2]
    () => publishPacket(illFormedText(random, `${own}/tlm`), '{"speed":1}', { qos: random.integer(0, 2), id }),
    () => subscribeAllPacket([illFormedText(random, `${own}/cmd`)], 1, id),
    () => unsubscribePacket([illFormedText(random, `${own}/cmd`)], id),
    // topics of another device
    () =>
      publishPacket(random.pick(['dev/bench-00001/tlm', 'dev/bench-00000/st', '$SYS/x']), '{"speed":1}', {
        qos: 1,
        id,
      }),
    // bodies that end before their fields do
    () => packetOf(0x32, text(`${own}/tlm`), randomBytes(random, random.integer(0, 1))),
    () => packetOf(random.pick([0x40, 0x50, 0x62, 0x70]), randomBytes(random, random.integer(0, 1))),
    () => packetOf(0x82, uint16(id), text(`${own}/cmd`)),
    () => packetOf(random.pick([0x82, 0xa2]), uint16(id), Buffer.from([0, 9, 0x61])),
    // and bodies that continue after their fields
    () => packetOf(random.pick([0xc0, 0xe0]), randomBytes(random, random.integer(1, 4))),
    () => packetOf(0x40, uint16(id), randomBytes(random, 2)),
    // [MQTT-2.2.3]: a length of more than four bytes
    () => Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, random.integer(0, 255)]),
    () => Buffer.from([0x32, 0xff, 0xff, 0xff, 0x7f]),
  ])()
}
