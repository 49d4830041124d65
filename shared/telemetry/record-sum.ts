import type { RowHashSum } from '#shared/sync-hash.ts'
import type { RecordKind, Records } from './records.ts'

// Initial values of the two 32-bit lanes of a record's hash.
const SEEDS = {
  gps: { a: 0x9e3779b9 | 0, b: 0x243f6a88 },
  battery: { a: 0x7f4a7c15, b: 0x85a308d3 | 0 },
} as const

/**
 * Adds the hashes of the records in [from, to) to an order-free sum: the same records give the same sum, whatever runs
 * and blocks they are in.
 *
 * The hash of a record is 64 bits in two lanes of 32, `a` the upper and `b` the lower; all arithmetic is modulo 2^32.
 * Both begin with the seed of the kind. Then each word of the record goes in: the lower 32 bits of its time, the rest
 * of its time, its columns in their order (an absent speed is -1). A word `w` goes in as
 *
 *     a = (a ^ w) * 0x85ebca6b;                 a ^= a >>> 15
 *     b = (b ^ rotateLeft(w, 16)) * 0xc2b2ae35;  b ^= b >>> 13
 *
 * and at the end
 *
 *     a += b * 0x9e3779b1;  b += rotateLeft(a, 13) * 0x27d4eb2f
 *     for x of a, b:  x ^= x >>> 16;  x *= 0x7feb352d;  x ^= x >>> 15;  x *= 0x846ca68b;  x ^= x >>> 16
 *
 * Gateways and hubs of all versions must agree on it: it can never change.
 */
export function addRecords<R extends Records>(
  sum: RowHashSum,
  kind: RecordKind<R>,
  records: R,
  from = 0,
  to: number = records.atMs.length,
): void {
  const { atMs } = records
  const columns = kind.columnsOf(records)
  const seed = SEEDS[kind.name]
  let upper = 0
  let lower = 0
  for (let i = from; i < to; i++) {
    const timeMs = atMs[i] ?? 0
    const early = timeMs | 0
    const late = (timeMs * 2 ** -32) | 0
    let a = step(seed.a, early, 0x85ebca6b, 15)
    let b = step(seed.b, swap(early), 0xc2b2ae35, 13)
    a = step(a, late, 0x85ebca6b, 15)
    b = step(b, swap(late), 0xc2b2ae35, 13)
    for (const column of columns) {
      const word = column[i] ?? 0
      a = step(a, word, 0x85ebca6b, 15)
      b = step(b, swap(word), 0xc2b2ae35, 13)
    }
    a = (a + Math.imul(b, 0x9e3779b1)) | 0
    b = (b + Math.imul((a << 13) | (a >>> 19), 0x27d4eb2f)) | 0
    const added = spread(b) >>> 0
    lower = (lower + added) >>> 0
    // smaller than the value that was added: the sum has passed 2^32
    upper = (upper + spread(a) + (lower < added ? 1 : 0)) | 0
  }
  sum.add((BigInt(upper >>> 0) << 32n) | BigInt(lower), Math.max(0, to - from))
}

function step(lane: number, word: number, factor: number, shift: number): number {
  const product = Math.imul(lane ^ word, factor)
  return product ^ (product >>> shift)
}

function swap(word: number): number {
  return (word << 16) | (word >>> 16)
}

function spread(lane: number): number {
  const first = Math.imul(lane ^ (lane >>> 16), 0x7feb352d)
  const second = Math.imul(first ^ (first >>> 15), 0x846ca68b)
  return second ^ (second >>> 16)
}
