import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchDevice, loginOf } from '#scripts/rig/gateway-api.ts'
import { ask, type Outcome, OWN_ADDRESS, TIMEOUT_MS } from '#scripts/rig/neighbours/ask.ts'
import { NEIGHBOUR_ADDRESS } from '#scripts/rig/neighbours/attack-connection.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'

const REQUEST_GAP_MS = 200
const SAMPLE_GAP_MS = 250
/** Statuses that a good key must never get. */
const REFUSALS = [401, 403, 429]
const MAX_EXAMPLES = 5

/** Outcomes of the requests and messages of the regular clients. */
export interface RegularsResult {
  answered: number
  /** Refused although with a good key, and within its own limits. */
  refused: number
  /** Unanswered by a running gateway: the requests to one that is killed end with it. */
  unanswered: number
  longestAnswerMs: number
  unacknowledged: number
  /** Longest time until an acknowledgement, starts of the gateway included. */
  longestAcknowledgementMs: number
  examples: string[]
}

/** Clients of every day: a cart, and users and programs with keys, some at the address of the noisy clients. */
export class Regulars {
  readonly #port: number
  readonly #cart: SessionClient
  readonly #topic: string
  readonly #sentAtMs = new Map<string, number>()
  readonly #result: Omit<RegularsResult, 'unacknowledged'> = {
    answered: 0,
    refused: 0,
    unanswered: 0,
    longestAnswerMs: 0,
    longestAcknowledgementMs: 0,
    examples: [],
  }
  readonly #loops: Promise<void>[] = []
  #isStopping = false

  constructor(ports: { http: number; mqtt: number }, cart: BenchDevice) {
    this.#port = ports.http
    this.#topic = `dev/${cart.hardwareId}/tlm`
    this.#cart = new SessionClient({ port: ports.mqtt, ...loginOf(cart), isPersistent: false })
    this.#cart.onAcknowledged = ({ payload }) => {
      const tookMs = performance.now() - (this.#sentAtMs.get(payload) ?? performance.now())
      this.#sentAtMs.delete(payload)
      this.#result.longestAcknowledgementMs = Math.max(this.#result.longestAcknowledgementMs, tookMs)
    }
  }

  /** Sends requests with each key continuously; without keys it requests `/health`. */
  start(keys: readonly string[]): void {
    this.#cart.goOnline()
    this.#loops.push(this.#sendSamples())
    this.#loops.push(this.#ask('/health', '', OWN_ADDRESS))
    for (const [i, key] of keys.entries()) {
      const address = i % 2 === 0 ? OWN_ADDRESS : NEIGHBOUR_ADDRESS
      this.#loops.push(this.#ask('/devices?limit=10', key, address))
    }
  }

  /** Ends once the running gateway has acknowledged everything, or the limit expires. */
  async stop(): Promise<RegularsResult> {
    this.#isStopping = true
    await Promise.all(this.#loops)
    await waitUntil(() => this.#cart.unacknowledged === 0, TIMEOUT_MS)
    const { unacknowledged } = this.#cart
    this.#cart.goOffline('politely')
    return { ...this.#result, unacknowledged }
  }

  async #sendSamples(): Promise<void> {
    while (!this.#isStopping) {
      await sleep(SAMPLE_GAP_MS)
      const payload = JSON.stringify({ ts: Date.now(), lat: 36.568, long: -121.948, speed: 5 })
      this.#sentAtMs.set(payload, performance.now())
      this.#cart.publish({ topic: this.#topic, payload, qos: 1, retain: false })
    }
  }

  async #ask(path: string, key: string, localAddress: string): Promise<void> {
    while (!this.#isStopping) {
      await sleep(REQUEST_GAP_MS)
      const startedAtMs = performance.now()
      const outcome = await ask({ port: this.#port, path, key, localAddress })
      this.#note(`${path} from ${localAddress}`, outcome, performance.now() - startedAtMs)
    }
  }

  #note(what: string, outcome: Outcome, tookMs: number): void {
    const result = this.#result
    // killed just now, or not started yet; or too many sockets of the noisy clients, whose address this one shares
    if (outcome === 'cut off') return
    if (outcome === 'no answer') {
      result.unanswered++
      result.examples.push(`${what}: no answer`)
    } else {
      result.answered++
      result.longestAnswerMs = Math.max(result.longestAnswerMs, tookMs)
      if (!REFUSALS.includes(outcome)) return
      result.refused++
      result.examples.push(`${what}: ${outcome}`)
    }
    result.examples.splice(MAX_EXAMPLES)
  }
}
