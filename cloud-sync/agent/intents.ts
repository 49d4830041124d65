import type { Counter } from '#shared/counter.ts'
import type { IntentInboxPort } from '#shared/sync-source.ts'
import { MAX_REMEMBERED_INTENT_SEQ } from '#shared/wire/replication/replicated.ts'
import type { Intent } from '#shared/wire/replication/sync.ts'
import { Backoff } from './backoff.ts'
import type { Cursors } from './cursors.ts'
import type { HubClock } from './hub-clock.ts'
import type { AgentClock, Link } from './link.ts'
import type { Upstream } from './upstream.ts'

interface IntentsDeps {
  readonly inbox: IntentInboxPort
  readonly upstream: Upstream
  readonly cursors: Cursors
  readonly link: Link
  readonly clock: AgentClock
  readonly hubClock: HubClock
  readonly random: () => number
  readonly failures: Counter
  /** Called when there are results to send. */
  readonly onReceived: () => void
}

const LONGEST_WAIT_S = 50
const SHORTEST_WAIT_S = 5
/** Pause after a request without intents. */
const PAUSE_MS = 1_000

/** Fetches intents from the hub and passes each once, in order, to the inbox. */
export class Intents {
  readonly #deps: IntentsDeps
  readonly #backoff: Backoff
  #receivedSeq = 0
  #waitS = LONGEST_WAIT_S

  constructor(deps: IntentsDeps) {
    this.#deps = deps
    this.#backoff = new Backoff(deps.random)
  }

  /** Sends one request; the hub responds on intents, or after a while. Returns the delay before the next request. */
  async step(signal: AbortSignal): Promise<number> {
    const { inbox, upstream, cursors, link, failures } = this.#deps
    if (link.holdMs > 0) return link.holdMs
    const asked = cursors.known
    const outcome = await upstream.intents(this.#lastSeq, this.#waitS, signal)
    if (signal.aborted) return 0
    if (outcome.kind === 'retry') {
      // a proxy may end long requests; the lanes find out whether the hub is reachable
      failures.add(outcome.reason)
      this.#waitS = Math.max(SHORTEST_WAIT_S, Math.floor(this.#waitS / 2))
      return this.#backoff.nextMs(outcome.retryAfterMs)
    }
    if (outcome.kind !== 'ok') {
      await link.failed(outcome, asked)
      return this.#backoff.nextMs(PAUSE_MS)
    }
    this.#backoff.reset()
    link.succeeded({})
    const before = this.#lastSeq
    for (const intent of outcome.answer.toSorted((a, b) => a.seq - b.seq)) {
      if (intent.seq <= this.#lastSeq) continue
      await inbox.receive(this.#inOurTime(intent))
      this.#receivedSeq = Math.min(intent.seq, MAX_REMEMBERED_INTENT_SEQ)
      this.#deps.onReceived()
    }
    // the hub repeats intents above the highest stored number until it has their results
    return this.#lastSeq === before ? PAUSE_MS : 0
  }

  /** Converts the expiry to the clock of this gateway by the time left at the hub: the two clocks may differ. */
  #inOurTime(intent: Intent): Intent {
    const offsetMs = this.#deps.hubClock.offsetMs ?? 0
    const { issued_at_ms, expires_at_ms } = intent
    return { ...intent, issued_at_ms: issued_at_ms + offsetMs, expires_at_ms: expires_at_ms + offsetMs }
  }

  get #lastSeq(): number {
    return Math.max(this.#deps.inbox.lastSeq(), this.#receivedSeq)
  }
}
