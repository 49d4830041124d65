/** A disk that can be made to wait: what is written while it is held is on it when it is let go, in order. */
export class HeldDisk {
  #isHeld = false
  #waiting: (() => void)[] = []

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const done of waiting) done()
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  /** Calls back when what is written now is on the disk: at once, unless it is held. */
  write(done: () => void): void {
    if (this.#isHeld) this.#waiting.push(done)
    else done()
  }

  written(): Promise<void> {
    return new Promise((resolve) => this.write(resolve))
  }
}
