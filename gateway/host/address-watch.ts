import type { Component } from '#shared/lifecycle.ts'

const CHECK_MS = 5_000

interface AddressWatchOptions {
  read: () => Promise<string>
  /** Called with each new address except the first. */
  onChange: (url: string) => Promise<void>
  checkMs?: number
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
    const { checkMs = CHECK_MS } = this.#options
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.check())
    }, checkMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Checks the address now. Never rejects, unless `onChange` does. */
  async check(): Promise<void> {
    const url = await this.#options.read()
    if (url === this.#known) return
    this.#known = url
    await this.#options.onChange(url)
  }
}
