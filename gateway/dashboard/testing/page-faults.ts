import type { Page, Request } from 'playwright-core'
import { eventually } from '#shared/testing/eventually.ts'

/** Console message for each connection that fails while the gateway is unreachable; no page can suppress it. */
export const LINE_GONE =
  /ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED|INTERNET_DISCONNECTED|ABORTED)|WebSocket connection to .* failed/

/** Matches the console message about a response with this status, which a test provokes. */
export function answered(status: number): RegExp {
  return new RegExp(`the server responded with a status of ${status}`)
}

/** Runs before the scripts of a page: reports violations of the page's policy as errors. */
const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (e) =>
  console.error('policy: ' + e.effectiveDirective + ' forbids ' + e.blockedURI + ' ' + e.sample), true)`

/** Watches a page for faults: errors, requests to other hosts, violations of the policy, missing responses. */
export class PageFaults {
  readonly #found: string[] = []
  readonly #forgiven: RegExp[] = []
  readonly #waiting = new Set<Request>()

  static async watch(page: Page, origin: string): Promise<PageFaults> {
    const faults = new PageFaults()
    await page.addInitScript(REPORT_VIOLATIONS)
    page.on('console', (message) => {
      if (message.type() === 'error') faults.#add(`console: ${message.text()} (${message.location().url})`)
    })
    page.on('pageerror', (error) => faults.#add(`uncaught: ${error.stack ?? error.message}`))
    page.on('crash', () => faults.#add('the page has crashed'))
    page.on('request', (request) => faults.#begin(request, origin))
    page.on('websocket', (socket) => faults.#isOurs(socket.url(), origin))
    page.on('requestfinished', (request) => faults.#waiting.delete(request))
    page.on('requestfailed', (request) => faults.#waiting.delete(request))
    return faults
  }

  /** Excludes faults that a test provokes, such as `LINE_GONE` and `answered(401)`, including earlier ones. */
  forgive(...patterns: RegExp[]): void {
    this.#forgiven.push(...patterns)
  }

  get found(): string[] {
    return this.#found.filter((fault) => !this.#forgiven.some((pattern) => pattern.test(fault)))
  }

  /** Throws for a fault or a request without a response; call it while the connection is live. */
  async assertNone(limitMs = 8_000): Promise<void> {
    const isAnswered = () => this.#waiting.size === 0
    await eventually(isAnswered, 'all requests are answered', limitMs).catch(() => {
      for (const request of this.#waiting) this.#add(`no answer: ${request.method()} ${request.url()}`)
    })
    const { found } = this
    if (found.length > 0) throw new Error(`the page did what it must not:\n  ${found.join('\n  ')}`)
  }

  #begin(request: Request, origin: string): void {
    this.#isOurs(request.url(), origin)
    this.#waiting.add(request)
  }

  #isOurs(url: string, origin: string): void {
    const { protocol, host } = new URL(url)
    const isLocal = protocol === 'data:' || protocol === 'blob:'
    if (!isLocal && host !== new URL(origin).host) this.#add(`a request to another host: ${url}`)
  }

  #add(fault: string): void {
    this.#found.push(fault)
  }
}
