import type { Component } from '#shared/lifecycle.ts'

const LOOK_MS = 5_000

interface AddressWatchOptions {
  /** The address as it is now. */
  read: () => Promise<string>
  /** Is told of each address but the first. */
  onChange: (url: string) => Promise<void>
  lookMs?: number
}

/**
 * Watches the address that people reach the gateway at: at a boot the network comes later, and a router may give
 * another one.
 */
export class AddressWatch implements Component {
  readonly #options: AddressWatchOptions
  #known: string
  #looking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(first: string, options: AddressWatchOptions) {
    this.#known = first
    this.#options = options
  }

  async start(): Promise<void> {
    const { lookMs = LOOK_MS } = this.#options
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.look())
    }, lookMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Looks now. Never rejects, unless `onChange` does. */
  async look(): Promise<void> {
    const url = await this.#options.read()
    if (url === this.#known) return
    this.#known = url
    await this.#options.onChange(url)
  }
}
