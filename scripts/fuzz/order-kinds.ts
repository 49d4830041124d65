import type { Random } from '#shared/random.ts'
import { acknowledgement, PACKET, PINGREQ } from '#testing/mqtt-packets.ts'
import type { Entry, Kind } from './fuzz-case.ts'
import { mutate } from './mutation.ts'
import { loginPacket, plainPublish, samplePacket, someId, somePublish } from './sample-packets.ts'

function cutAtRandom(random: Random, bytes: Buffer): Buffer[] {
  const writes: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = random.chance(0.5) ? random.integer(1, 8) : random.integer(1, 2_000)
    writes.push(bytes.subarray(at, at + size))
    at += size
  }
  return writes
}

/** Cases made of packets that are correct in themselves, but not in their position or number. */
export const orderKinds: readonly Kind[] = [
  {
    name: 'order',
    weight: 14,
    draft: (random, device) => ({
      entry: random.pick<Entry>(['stranger', 'pipelined', 'welcomed']),
      writes: Array.from({ length: random.integer(1, 12) }, () => samplePacket(random, random.integer(0, 15), device)),
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
    // packets that the fast parser reads in place, many together, until another one follows
    name: 'plain-run',
    weight: 8,
    draft: (random, device) => {
      const run = () => Array.from({ length: random.integer(1, 20) }, () => plainPublish(random, device))
      const others = Array.from({ length: random.integer(0, 3) }, () =>
        random.chance(0.5) ? somePublish(random, device) : mutate(random, plainPublish(random, device), PINGREQ),
      )
      const bytes = Buffer.concat([...run(), ...others, ...run()])
      return { entry: random.pick(['pipelined', 'welcomed']), writes: cutAtRandom(random, bytes) }
    },
  },
  {
    // every position at which a packet can be split
    name: 'split-run',
    weight: 3,
    draft: (random, device) => {
      const count = random.integer(1, 4)
      const bytes = Buffer.concat(Array.from({ length: count }, (_, i) => plainPublish(random, device, i + 1)))
      const at = random.integer(1, bytes.length - 1)
      return {
        entry: 'welcomed',
        writes: [bytes.subarray(0, at), bytes.subarray(at)],
        ending: 'ping',
        answers: Array<number>(count).fill(PACKET.puback),
      }
    },
  },
  {
    name: 'flood',
    weight: 2,
    draft: (random, device) => {
      const one = random.pick([PINGREQ, somePublish(random, device), loginPacket(device), Buffer.from([0x20, 2, 0, 0])])
      return {
        entry: random.pick<Entry>(['stranger', 'pipelined', 'welcomed']),
        writes: [Buffer.concat(Array(random.integer(50, 1_000)).fill(one))],
      }
    },
  },
]
