import { signal } from '@preact/signals-core'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

/** TLS address of a page that was loaded over plain HTTP, as the gateway reports it. */
type Tls = NonNullable<AnswerOf<'GET /sessions/current'>['tls']>

export interface TlsMoveDeps {
  /** True if the page was loaded over plain HTTP. */
  isPlain: () => boolean
  /** Resolves to true if the browser accepts the certificate at this address. */
  reaches: (url: string) => Promise<boolean>
  /** True if the page can be replaced without disturbing its user. */
  isIdle: () => boolean
  go: (url: string) => void
}

const CHECK_MS = 60_000

/**
 * Moves a page that was loaded over plain HTTP to the same page over TLS, only once the browser trusts the gateway, so
 * that no user meets a warning that cannot be passed. Automatic while the page is idle, else by a button.
 */
export class TlsMove {
  readonly #deps: TlsMoveDeps
  readonly #tls = signal<Tls | undefined>(undefined)
  readonly #isTrusted = signal<boolean | null>(null)

  constructor(deps: TlsMoveDeps) {
    this.#deps = deps
  }

  /** Page over TLS, else the guide to trusting the gateway; undefined if neither is needed. */
  get offer(): { kind: 'move' } | { kind: 'guide'; url: string } | undefined {
    const [tls, isTrusted] = [this.#tls.value, this.#isTrusted.value]
    if (tls === undefined || isTrusted === null) return undefined
    if (isTrusted) return { kind: 'move' }
    return tls.guide === null ? undefined : { kind: 'guide', url: tls.guide }
  }

  start(): void {
    if (this.#deps.isPlain()) setInterval(() => void this.check(), CHECK_MS)
  }

  /** Stores the gateway's last report, kept while the gateway does not respond: plain HTTP may be closed by then. */
  know(tls: Tls | undefined): void {
    if (!this.#deps.isPlain() || tls?.url === this.#tls.value?.url) return
    this.#tls.value = tls
    this.#isTrusted.value = null
    void this.check()
  }

  /** Checks if the browser trusts the gateway by now, and moves the page if it is idle. */
  async check(): Promise<void> {
    const tls = this.#tls.value
    if (tls === undefined) return
    const isTrusted = await this.#deps.reaches(tls.url)
    if (this.#tls.value !== tls) return
    this.#isTrusted.value = isTrusted
    if (isTrusted && this.#deps.isIdle()) this.#deps.go(tls.url)
  }

  /** Moves the page because the user asked for it. */
  go(): void {
    const tls = this.#tls.value
    if (tls !== undefined) this.#deps.go(tls.url)
  }
}

/**
 * Returns true if the browser trusts the certificate: any cross-origin response will do, because without trust the
 * request fails. The policy of the page allows it, as `'self'` includes this host over TLS.
 */
export async function isTlsTrusted(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { mode: 'no-cors', cache: 'no-store', credentials: 'omit' })
    return true
  } catch {
    return false
  }
}
