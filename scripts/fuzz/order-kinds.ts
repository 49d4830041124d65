import { acknowledgement, PACKET, PINGREQ } from '#testing/mqtt-packets.ts'
import type { Entry, Kind } from './fuzz-case.ts'
import { loginPacket, samplePacket, someId, somePublish } from './sample-packets.ts'

/** Cases made of packets that are right in themselves, but not where and how often they come. */
export const orderKinds: readonly Kind[] = [
  {
    name: 'order',
    weight: 14,
    draft: (random, device) => ({
      entry: random.pick<Entry>(['stranger', 'pipelined', 'welcomed']),
      writes: Array.from({ length: random.integer(1, 12) }, () =>
        samplePacket(random, random.integer(0, 15), device),
      ),
    }),
  },
  {
    name: 'acknowledgements',
    weight: 5,
    draft: (random) => {
      const type = random.pick([PACKET.puback, PACKET.pubrec, PACKET.pubrel, PACKET.pubcomp])
      const packets = Array.from({ length: random.integer(1, 300) }, () =>
        acknowledgement(type, random.chance(0.5) ? 7 : random.integer(0, 0xffff)),
      )
      return { entry: random.pick(['pipelined', 'welcomed']), writes: [Buffer.concat(packets)] }
    },
  },
  {
    name: 'exactly-once',
    weight: 5,
    draft: (random, device) => {
      const packets = Array.from({ length: random.integer(1, 40) }, () =>
        random.chance(0.6) ? somePublish(random, device, 2) : acknowledgement(PACKET.pubrel, someId(random)),
      )
      return { entry: random.pick(['pipelined', 'welcomed']), writes: packets }
    },
  },
  {
    name: 'flood',
    weight: 2,
    draft: (random, device) => {
      const one = random.pick([
        PINGREQ,
        somePublish(random, device),
        loginPacket(device),
        Buffer.from([0x20, 2, 0, 0]),
      ])
      return {
        entry: random.pick<Entry>(['stranger', 'pipelined', 'welcomed']),
        writes: [Buffer.concat(Array(random.integer(50, 1_000)).fill(one))],
      }
    },
  },
]
