import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals-core'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'

/** An upgrade of the gateway that goes on: which step of how many; null before the first, and after the last. */
export interface UpgradeStep {
  step: { number: number; of: number } | null
}

interface UpgradeWatchDeps {
  line: { state: ReadonlySignal<GatewayConnectionState> }
  /** Where the gateway says how it is. */
  url?: string
  setTimer?: (action: () => void, ms: number) => unknown
}

const ASK_EVERY_MS = 3_000
/** A network that swallows everything answers nothing. */
const ANSWER_MS = 5_000

/**
 * Whether the line is gone because the gateway is being upgraded: a refused socket says nothing of why, so it is asked.
 */
export class UpgradeMonitor {
  readonly #deps: UpgradeWatchDeps
  readonly #setTimer: (action: () => void, ms: number) => unknown
  readonly #seen = signal<UpgradeStep | null>(null)
  #losses = 0

  constructor(deps: UpgradeWatchDeps) {
    this.#deps = deps
    this.#setTimer = deps.setTimer ?? ((action, ms) => setTimeout(action, ms))
    effect(() => {
      const isLost = deps.line.state.value.kind === 'lost'
      untracked(() => {
        const loss = ++this.#losses
        this.#seen.value = null
        if (isLost) void this.#watch(loss)
      })
    })
  }

  /** Null while nothing says that there is one. */
  get seen(): ReadonlySignal<UpgradeStep | null> {
    return this.#seen
  }

  /** Asks again and again, until the line is back or gone anew. */
  async #watch(loss: number): Promise<void> {
    const seen = await this.#ask()
    if (loss !== this.#losses) return
    this.#seen.value = seen
    this.#setTimer(() => {
      if (loss === this.#losses) void this.#watch(loss)
    }, ASK_EVERY_MS)
  }

  async #ask(): Promise<UpgradeStep | null> {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS)
      const response = await fetch(this.#deps.url ?? '/health', { cache: 'no-store', signal })
      // it is what our gateway answers there, whatever its status; a proxy in between answers no JSON
      const { status, done, of } = (await response.json()) as AnswerOf<'GET /health'>
      if (status !== 'upgrading' && status !== 'starting') return null
      return { step: done === undefined || of === undefined ? null : { number: done + 1, of } }
    } catch {
      return null
    }
  }
}
