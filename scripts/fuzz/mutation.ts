import type { Random } from '#shared/random.ts'

type Mutation = (random: Random, packet: Buffer, other: Buffer) => Buffer

/** Remaining lengths that no packet may have, or that are wrong for this packet [section 2.2.3]. */
const LENGTHS: readonly [readonly number[], ...(readonly number[])[]] = [
  [0],
  [1],
  [0x7f],
  [0xff, 0x7f],
  [0xff, 0xff, 0x7f],
  [0xff, 0xff, 0xff, 0x7f],
  [0xff, 0xff, 0xff, 0xff],
  [0xff, 0xff, 0xff, 0xff, 0x7f],
  [0x80, 0x80, 0x80, 0x80, 0x00],
  [0x80, 0x00],
  [0x82, 0x80, 0x00],
  [0x8c, 0x80, 0x80, 0x00],
]

const EDGES: readonly [number, ...number[]] = [0, 1, 2, 0x7f, 0x80, 0xc0, 0xf0, 0xfe, 0xff]

const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  flipBits,
  (random, packet) => packet.subarray(0, random.integer(0, packet.length - 1)),
  (random, packet) => replace(packet, packet.length, 0, randomBytes(random, random.integer(1, 40))),
  // the head of one packet on the tail of another
  (random, packet, other) => {
    const head = packet.subarray(0, random.integer(0, packet.length))
    return Buffer.concat([head, other.subarray(random.integer(0, other.length))])
  },
  (random, packet) => replace(packet, 1, lengthEnd(packet) - 1, random.pick(LENGTHS)),
  (random, packet) => shiftLength(packet, random.integer(-8, 8)),
  (random, packet) => replace(packet, random.integer(0, packet.length - 1), 1, [random.pick(EDGES)]),
  (random, packet) => replace(packet, 0, 1, [random.integer(0, 255)]),
  (random, packet) => replace(packet, 0, 1, [((packet[0] ?? 0) & 0xf0) | random.integer(0, 15)]),
  (random, packet) => replace(packet, random.integer(0, packet.length), 0, randomBytes(random, random.integer(1, 8))),
  (random, packet) => replace(packet, random.integer(0, packet.length), random.integer(1, 4), []),
]

/** The packet after one to three changes; `other` provides bytes. */
export function mutate(random: Random, packet: Buffer, other: Buffer): Buffer {
  let mutated = packet
  for (let left = random.integer(1, 3); left > 0 && mutated.length > 0; left--) {
    mutated = random.pick(MUTATIONS)(random, mutated, other)
  }
  return mutated
}

export function randomBytes(random: Random, count: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: count }, () => random.integer(0, 255)))
}

function flipBits(random: Random, packet: Buffer): Buffer {
  const flipped = Buffer.from(packet)
  for (let left = random.integer(1, 8); left > 0; left--) {
    const at = random.integer(0, flipped.length - 1)
    flipped[at] = (flipped[at] ?? 0) ^ (1 << random.integer(0, 7))
  }
  return flipped
}

/** Replaces `count` bytes of the packet. */
function replace(packet: Buffer, at: number, count: number, bytes: Iterable<number>): Buffer {
  return Buffer.from([...packet.subarray(0, at), ...bytes, ...packet.subarray(at + count)])
}

/** Makes the announced length a little too small or too large; packets of more than 127 bytes are left alone. */
function shiftLength(packet: Buffer, by: number): Buffer {
  const length = packet[1] ?? 128
  return length < 128 ? replace(packet, 1, 1, [Math.min(127, Math.max(0, length + by))]) : packet
}

function lengthEnd(packet: Buffer): number {
  let end = 1
  while (end < 4 && (packet[end] ?? 0) >= 128) end++
  return end + 1
}
