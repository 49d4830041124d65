import type { Random } from '#shared/random.ts'
import type { Kind, Login } from './fuzz-case.ts'
import { randomBytes } from './mutation.ts'
import {
  encodeNumber,
  encodePacket,
  encodeText,
  loginPacket,
  publishOf,
  subscribeOf,
  unsubscribeOf,
} from './packets.ts'
import { samplePacket, someId } from './sample-packets.ts'
import { illFormedText } from './wild-text.ts'

/** Cases for which there is only one right answer. */
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

/** After a login, a packet for which the specification wants the connection closed. */
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
    () => encodePacket(0x36, encodeText(`${own}/tlm`), encodeNumber(id), Buffer.from('{}')),
    // [MQTT-2.2.2-2]
    () =>
      encodePacket(
        random.pick([0x80, 0x81, 0x8a]),
        encodeNumber(id),
        encodeText(`${own}/cmd`),
        Buffer.from([0]),
      ),
    () => encodePacket(random.pick([0xa0, 0xa1]), encodeNumber(id), encodeText(`${own}/cmd`)),
    () => encodePacket(random.pick([0x41, 0x52, 0x60, 0x74, 0xc1, 0xe8])),
    // [MQTT-2.3.1-1]
    () => publishOf(`${own}/tlm`, '{"speed":1}', random.integer(1, 2), 0),
    () => subscribeOf([`${own}/cmd`], 1, 0),
    () => unsubscribeOf([`${own}/cmd`], 0),
    // [MQTT-3.8.3-3] and [MQTT-3.10.3-2]
    () => subscribeOf([], 1, id),
    () => unsubscribeOf([], id),
    // [MQTT-3.8.3-4]
    () => subscribeOf([`${own}/cmd`], random.pick([3, 4, 0x80, 0xff]), id),
    // [MQTT-3.3.2-2], and a topic of at least one character [MQTT-4.7.3-1]
    () => publishOf(random.pick(['', '#', '+', `${own}/+`, `${own}/#`]), '{}', random.integer(0, 2), id),
    () => subscribeOf([''], 1, id),
    () => unsubscribeOf([''], id),
    // [MQTT-4.7.1-2] and [MQTT-4.7.1-3]
    () => subscribeOf([random.pick([`${own}/c#`, `${own}/#/x`, `${own}/c+d/x`])], 1, id),
    // [MQTT-1.5.3-1], [MQTT-1.5.3-2]
    () => publishOf(illFormedText(random, `${own}/tlm`), '{"speed":1}', random.integer(0, 2), id),
    () => subscribeOf([illFormedText(random, `${own}/cmd`)], 1, id),
    () => unsubscribeOf([illFormedText(random, `${own}/cmd`)], id),
    // somebody else's topics
    () =>
      publishOf(random.pick(['dev/bench-00001/tlm', 'dev/bench-00000/st', '$SYS/x']), '{"speed":1}', 1, id),
    // bodies that end before their fields do
    () => encodePacket(0x32, encodeText(`${own}/tlm`), randomBytes(random, random.integer(0, 1))),
    () => encodePacket(random.pick([0x40, 0x50, 0x62, 0x70]), randomBytes(random, random.integer(0, 1))),
    () => encodePacket(0x82, encodeNumber(id), encodeText(`${own}/cmd`)),
    () => encodePacket(random.pick([0x82, 0xa2]), encodeNumber(id), Buffer.from([0, 9, 0x61])),
    // and those that go on behind them
    () => encodePacket(random.pick([0xc0, 0xe0]), randomBytes(random, random.integer(1, 4))),
    () => encodePacket(0x40, encodeNumber(id), randomBytes(random, 2)),
    // [MQTT-2.2.3]: a length of more than four bytes
    () => Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, random.integer(0, 255)]),
    () => Buffer.from([0x32, 0xff, 0xff, 0xff, 0x7f]),
  ])()
}
