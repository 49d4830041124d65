import { encodeFrame, Opcode } from '#scripts/rig/websocket.ts'
import type { Random } from '#shared/random.ts'
import type { Kind, Login } from './fuzz-case.ts'
import { mutate, randomBytes } from './mutation.ts'
import { loginPacket, samplePacket } from './sample-packets.ts'
import { upgradeToMqtt } from './websocket-answer.ts'

/** Cases about the transport of MQTT on the HTTP port. */
export const websocketKinds: readonly Kind[] = [
  {
    name: 'frames',
    weight: 5,
    draft: (random, device) => ({
      channel: 'http',
      writes: [
        upgradeToMqtt('/mqtt'),
        ...Array.from({ length: random.integer(1, 6) }, () => wildFrame(random, device)),
      ],
      ending: random.pick(['half-close', 'reset', 'silence']),
    }),
  },
  {
    name: 'upgrade',
    weight: 2,
    draft: (random, device) => {
      const request = random.chance(0.5)
        ? mutate(random, upgradeToMqtt('/mqtt'), randomBytes(random, 50))
        : upgradeToMqtt(random.pick(['/', '/mqtt/', '/mqtt?x=1', '/realtime', '/%00', '/mqtt%2f..', '/devices']))
      const frame = encodeFrame(Opcode.binary, loginPacket(device))
      return { channel: 'http', writes: [request, frame], ending: random.pick(['half-close', 'reset']) }
    },
  },
]

/** Frame of RFC 6455 that carries a packet, wrong more often than not. */
function wildFrame(random: Random, device: Login): Buffer {
  const packet = random.chance(0.5) ? loginPacket(device) : samplePacket(random, random.integer(0, 15), device)
  const good = encodeFrame(Opcode.binary, packet)
  return random.pick<() => Buffer>([
    () => good,
    () => mutate(random, good, randomBytes(random, 20)),
    () => encodeFrame(random.integer(0, 15), packet),
    () => encodeFrame(Opcode.text, packet),
    // fragments, in or out of order
    () => encodeFrame(random.pick([Opcode.binary, Opcode.continuation]), packet, { isFinal: false }),
    () =>
      encodeFrame(random.pick([Opcode.ping, Opcode.pong, Opcode.close]), randomBytes(random, random.integer(0, 130))),
    () => encodeFrame(Opcode.binary, packet, { isMasked: false }),
    () => encodeFrame(Opcode.binary, packet, { reserved: random.integer(1, 7) }),
    // lengths of 16 and 64 bits without that many bytes
    () => Buffer.from([0x82, 0xfe, 0xff, 0xff, 1, 2, 3, 4]),
    () => Buffer.from([0x82, 0xff, ...randomBytes(random, 8), 1, 2, 3, 4]),
  ])()
}
