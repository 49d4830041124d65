import type { PartLimits, StreamPart } from '#shared/sync-source.ts'

/** A row as it is sent. */
export interface SentRow {
  readonly seq: number
  readonly text: string
  /** When it was received, measured or changed, where that is known. */
  readonly atMs: number | null
}

const encoder = new TextEncoder()

/** Collects rows of a `rows-1` part as long as there is room. */
export class RowsPart {
  readonly #limits: PartLimits
  readonly #texts: string[] = []
  /** Of the array, with its last bracket. */
  #bytes = 2
  #to = 0
  #oldestMs: number | null = null

  constructor(limits: PartLimits) {
    this.#limits = limits
  }

  /** False when there is no room for it: then it belongs to the next part. */
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

  /** Null when nothing was added. `to` is 0 for rows that are sent once more. */
  finish(to: number = this.#to): StreamPart | null {
    const count = this.#texts.length
    if (count === 0) return null
    const data = encoder.encode(`[${this.#texts.join(',')}]`)
    return { to, count, encoding: 'rows-1', data, oldestMs: this.#oldestMs }
  }
}
