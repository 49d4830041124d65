import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals-core'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'

/** Upgrade of the gateway in progress: current step and number of steps; null before the first and after the last. */
export interface UpgradeStep {
  step: { number: number; of: number } | null
}

interface UpgradeWatchDeps {
  line: { state: ReadonlySignal<GatewayConnectionState> }
  /** Address of the gateway's health. */
  url?: string
  setTimer?: (action: () => void, ms: number) => unknown
}

const ASK_EVERY_MS = 3_000
/** Timeout of a request, for a network that drops packets silently. */
const ANSWER_MS = 5_000

/** Checks if an upgrade caused the loss: a rejected socket carries no reason, so the gateway's health is requested. */
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

  /** Upgrade in progress; null if none is known. */
  get seen(): ReadonlySignal<UpgradeStep | null> {
    return this.#seen
  }

  /** Repeats the request until the connection is back, or lost again. */
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
      // the gateway sends this body with any status; a proxy in between sends no JSON
      const { status, done, of } = (await response.json()) as AnswerOf<'GET /health'>
      if (status !== 'upgrading' && status !== 'starting') return null
      return { step: done === undefined || of === undefined ? null : { number: done + 1, of } }
    } catch {
      return null
    }
  }
}
