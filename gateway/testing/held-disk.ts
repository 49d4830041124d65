/** Disk that can be held: writes while it is held complete when it is released, in order. */
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

  /** Calls back when the write is on the disk: immediately, unless held. */
  write(done: () => void): void {
    if (this.#isHeld) this.#waiting.push(done)
    else done()
  }

  written(): Promise<void> {
    return new Promise((resolve) => this.write(resolve))
  }
}
