/** Unacknowledged messages of a client in a ring: made, sent and released in order, acknowledged in any order. */
export class MessageWindow {
  readonly slots: number
  /** Due time and write time (`performance.now()`) of each slot's message, and the time of its sample (since 1970). */
  readonly dueAtMs: Float64Array
  readonly writtenAtMs: Float64Array
  readonly sampleMs: Float64Array
  readonly #isAcknowledged: Uint8Array
  #made = 0
  #sent = 0
  #released = 0

  constructor(slots: number) {
    this.slots = slots
    this.dueAtMs = new Float64Array(slots)
    this.writtenAtMs = new Float64Array(slots)
    this.sampleMs = new Float64Array(slots)
    this.#isAcknowledged = new Uint8Array(slots)
  }

  get free(): number {
    return this.slots - (this.#made - this.#released)
  }

  get unsent(): number {
    return this.#made - this.#sent
  }

  get unacknowledged(): number {
    return this.#made - this.#released
  }

  /** First slot to send next. */
  get nextToSend(): number {
    return this.#sent % this.slots
  }

  /** Takes a free slot for a new message; there must be one. */
  make(): number {
    const slot = this.#made++ % this.slots
    this.#isAcknowledged[slot] = 0
    return slot
  }

  markSent(count: number): void {
    this.#sent += count
  }

  /** Returns false for a slot whose message is not in flight. */
  acknowledge(slot: number): boolean {
    const distance = (slot - (this.#released % this.slots) + this.slots) % this.slots
    if (distance >= this.#sent - this.#released || this.#isAcknowledged[slot] !== 0) return false
    this.#isAcknowledged[slot] = 1
    while (this.#released < this.#sent && this.#isAcknowledged[this.#released % this.slots] === 1) {
      this.#released++
    }
    return true
  }

  /** Calls back for every sent, unacknowledged message, oldest first; used after a lost connection. */
  forEachToRepeat(repeat: (slot: number) => void): void {
    for (let n = this.#released; n < this.#sent; n++) {
      const slot = n % this.slots
      if (this.#isAcknowledged[slot] === 0) repeat(slot)
    }
  }
}
