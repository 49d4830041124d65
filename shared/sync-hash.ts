import { createHash, hash } from 'node:crypto'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

/** Fields of a batch that its hash covers in addition to its data. */
export type HashedPart = Pick<SyncPart, 'stream' | 'from' | 'to' | 'count' | 'prev_hash' | 'encoding'>

/** Hash of a batch: SHA-256 of the previous hash (so it covers all before), the fields and the data; 64 hex digits. */
export function partHash(part: HashedPart, data: Uint8Array): string {
  const { stream, from, to, count, prev_hash, encoding } = part
  const head = `${prev_hash}\n${stream}\n${from}\n${to}\n${count}\n${encoding}\n`
  return createHash('sha256').update(head).update(data).digest('hex')
}

/** Order-independent sum of row hashes, 64 bits in 16 hexadecimal digits. */
export class RowHashSum {
  #sum = 0n
  count = 0

  /** `text` contains everything that identifies the row and its content. */
  addText(text: string): void {
    this.add(hash('sha256', text, 'buffer').readBigUInt64BE(0))
  }

  /** Adds `count` rows whose hashes sum to `sum` modulo 2^64. */
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
 * Revision of an entity, equal on both sides for the same body in its sent form; `null` is the body of a deleted one.
 */
export function entityRev(body: Readonly<Record<string, unknown>> | null): string {
  return hash('sha256', JSON.stringify(body), 'hex').slice(0, REV_DIGITS)
}
