const DELAY_MS = 100
const MAX_ROWS = 200

/** Batches acknowledged sequence numbers for deletion on the disk; a restart before sends the messages again. */
export class DequeuedBatch {
  readonly #write: (seqs: number[]) => void
  #seqs: number[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(write: (seqs: number[]) => void) {
    this.#write = write
  }

  add(seq: number): void {
    this.#seqs.push(seq)
    if (this.#seqs.length >= MAX_ROWS) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), DELAY_MS)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#seqs.length === 0) return
    const seqs = this.#seqs
    this.#seqs = []
    this.#write(seqs)
  }
}
