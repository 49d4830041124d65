/** Process of the course from its start to its end: a gateway, a hub, or a device. */
export class Program {
  readonly name: string
  isAlive = true
  /** Called before each turn of its event loop; may kill it. */
  onTurn: (() => void) | null = null
  readonly #closers = new Set<() => void>()
  readonly #host: { readonly wallOffsetMs: number }

  /** `host` is the computer, or the program of a thread. */
  constructor(name: string, host: { readonly wallOffsetMs: number } = { wallOffsetMs: 0 }) {
    this.name = name
    this.#host = host
  }

  /** Difference of its wall clock to the true time, in ms. */
  get wallOffsetMs(): number {
    return this.#host.wallOffsetMs
  }

  /** Registers what a kernel would release when the process ends; returns a function that forgets it. */
  onDeath(close: () => void): () => void {
    this.#closers.add(close)
    return () => this.#closers.delete(close)
  }

  /** Ends it without a chance to react. */
  die(): void {
    this.isAlive = false
    for (const close of [...this.#closers]) close()
    this.#closers.clear()
  }
}
