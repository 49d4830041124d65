import type { Component } from '#shared/lifecycle.ts'

const LOOK_MS = 5_000

interface AddressWatchOptions {
  read: () => Promise<string>
  /** Called with each new address except the first. */
  onChange: (url: string) => Promise<void>
  lookMs?: number
}

/** Watches the gateway's address as seen from other hosts: networks come later at boot, routers assign others. */
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

  /** Checks the address now. Never rejects, unless `onChange` does. */
  async look(): Promise<void> {
    const url = await this.#options.read()
    if (url === this.#known) return
    this.#known = url
    await this.#options.onChange(url)
  }
}
