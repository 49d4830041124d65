import { signal } from '@preact/signals-core'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

/** Where a page that came over plain HTTP is over TLS, as the gateway says. */
type Tls = NonNullable<AnswerOf<'GET /sessions/current'>['tls']>

/** What it needs of the page and its browser. */
export interface TlsMoveDeps {
  /** Came over plain HTTP. */
  isPlain: () => boolean
  /** Whether the browser takes the certificate at this address. */
  reaches: (url: string) => Promise<boolean>
  /** Whether nobody would miss the page as it is now. */
  isIdle: () => boolean
  go: (url: string) => void
}

const LOOK_MS = 60_000

/**
 * Leads a page that came over plain HTTP to the same page over TLS, and nobody to a warning that he cannot get past:
 * only once the browser trusts the gateway. By itself while nobody uses the page, else by a button.
 */
export class TlsMove {
  readonly #deps: TlsMoveDeps
  readonly #tls = signal<Tls | undefined>(undefined)
  readonly #isTrusted = signal<boolean | null>(null)

  constructor(deps: TlsMoveDeps) {
    this.#deps = deps
  }

  /** The page over TLS, else the guide to trusting the gateway; undefined while nothing is to be done. */
  get offer(): { kind: 'move' } | { kind: 'guide'; url: string } | undefined {
    const [tls, isTrusted] = [this.#tls.value, this.#isTrusted.value]
    if (tls === undefined || isTrusted === null) return undefined
    if (isTrusted) return { kind: 'move' }
    return tls.guide === null ? undefined : { kind: 'guide', url: tls.guide }
  }

  start(): void {
    if (this.#deps.isPlain()) setInterval(() => void this.look(), LOOK_MS)
  }

  /** What the gateway said last. It is kept while the gateway says nothing: plain HTTP may be closed by then. */
  know(tls: Tls | undefined): void {
    if (!this.#deps.isPlain() || tls?.url === this.#tls.value?.url) return
    this.#tls.value = tls
    this.#isTrusted.value = null
    void this.look()
  }

  /** Looks whether the browser trusts the gateway by now, and goes there while nobody uses the page. */
  async look(): Promise<void> {
    const tls = this.#tls.value
    if (tls === undefined) return
    const isTrusted = await this.#deps.reaches(tls.url)
    if (this.#tls.value !== tls) return
    this.#isTrusted.value = isTrusted
    if (isTrusted && this.#deps.isIdle()) this.#deps.go(tls.url)
  }

  /** Somebody said so. */
  go(): void {
    const tls = this.#tls.value
    if (tls !== undefined) this.#deps.go(tls.url)
  }
}

/**
 * A cross-origin answer that nobody reads is enough: without trust there is none. The policy of the page allows it, as
 * `'self'` is also this host over TLS.
 */
export async function isTlsTrusted(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { mode: 'no-cors', cache: 'no-store', credentials: 'omit' })
    return true
  } catch {
    return false
  }
}
