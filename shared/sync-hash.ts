import { createHash, hash } from 'node:crypto'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

/** What of a part its hash covers besides its data. */
export type HashedPart = Pick<SyncPart, 'stream' | 'from' | 'to' | 'count' | 'prev_hash' | 'encoding'>

/**
 * The hash of a part: SHA-256 over the hash before it, what the part says of itself, and its data. Each hash so stands
 * for all parts up to it. 64 hexadecimal digits.
 */
export function partHash(part: HashedPart, data: Uint8Array): string {
  const { stream, from, to, count, prev_hash, encoding } = part
  const head = `${prev_hash}\n${stream}\n${from}\n${to}\n${count}\n${encoding}\n`
  return createHash('sha256').update(head).update(data).digest('hex')
}

/** The order-free sum of hashes of rows, 64 bits in 16 hexadecimal digits. */
export class RowHashSum {
  #sum = 0n
  count = 0

  /** `text` is what makes the row what it is. */
  addText(text: string): void {
    this.add(hash('sha256', text, 'buffer').readBigUInt64BE(0))
  }

  /** `count` rows whose hashes add up to `sum` modulo 2^64. */
  add(sum: bigint, count = 1): void {
    this.#sum = BigInt.asUintN(64, this.#sum + sum)
    this.count += count
  }

  toString(): string {
    return this.#sum.toString(16).padStart(16, '0')
  }
}

const REV_DIGITS = 16

/**
 * The revision of an entity: the same on both sides for the same body, as it crosses between them. `null` is the body
 * of one that is not there.
 */
export function entityRev(body: Readonly<Record<string, unknown>> | null): string {
  return hash('sha256', JSON.stringify(body), 'hex').slice(0, REV_DIGITS)
}
