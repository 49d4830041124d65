import type { PartLimits, StreamPart } from '#shared/sync-source.ts'

export interface SentRow {
  readonly seq: number
  readonly text: string
  /** Time at which it was received, measured or changed; null if unknown. */
  readonly atMs: number | null
}

const encoder = new TextEncoder()

/** Collects rows of a `rows-1` batch up to a maximum size. */
export class RowsPart {
  readonly #limits: PartLimits
  readonly #texts: string[] = []
  /** Size of the array with its closing bracket. */
  #bytes = 2
  #to = 0
  #oldestMs: number | null = null

  constructor(limits: PartLimits) {
    this.#limits = limits
  }

  /** False if the batch is full; the row then belongs to the next one. */
  add({ seq, text, atMs }: SentRow): boolean {
    const bytes = Buffer.byteLength(text) + 1
    const isFull = this.#texts.length >= this.#limits.rows || this.#bytes + bytes > this.#limits.bytes
    if (isFull && this.#texts.length > 0) return false
    this.#texts.push(text)
    this.#bytes += bytes
    this.#to = seq
    if (atMs !== null) this.#oldestMs = Math.min(atMs, this.#oldestMs ?? atMs)
    return true
  }

  /** Null if nothing was added. `to` is 0 for rows that are sent again. */
  finish(to: number = this.#to): StreamPart | null {
    const count = this.#texts.length
    if (count === 0) return null
    const data = encoder.encode(`[${this.#texts.join(',')}]`)
    return { to, count, encoding: 'rows-1', data, oldestMs: this.#oldestMs }
  }
}
