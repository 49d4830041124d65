import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals-core'
import type { ApiClient } from '#shared/client.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { RecallJson } from '#shared/wire/recall.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'

/** Delivery state of the message on the screens of a cart. */
export type ScreenState = 'confirmed' | 'sent' | 'offline' | 'none'

/** Active recall; the state of the carts is in the fleet. */
export interface ActiveRecall {
  recall: RecallJson
  screens: ReadonlyMap<string, ScreenState>
}

interface RecallWatchDeps {
  api: Pick<ApiClient, 'call'>
  line: { state: ReadonlySignal<GatewayConnectionState> }
  role: ReadonlySignal<MeJson['role']>
  setTimer?: (action: () => void, ms: number) => unknown
}

/** Minimum request interval: 200 screens confirm within seconds; `ASK_EVERY_MS` finds screens that reconnect. */
const ASK_AGAIN_MS = 1_500
const ASK_EVERY_MS = 10_000

/** Follows the gateway's recall state: requested when the connection is live and when a message announces a change. */
export class RecallMonitor {
  readonly #deps: RecallWatchDeps
  readonly #setTimer: (action: () => void, ms: number) => unknown
  readonly #now = signal<ActiveRecall | null>(null)
  readonly #isKnown = signal(false)
  readonly #endedText = signal<string | null>(null)
  #isAsking = false
  #isDue = false
  #isPlanned = false

  constructor(deps: RecallWatchDeps) {
    this.#deps = deps
    this.#setTimer = deps.setTimer ?? ((action, ms) => setTimeout(action, ms))
    effect(() => {
      const maySee = deps.role.value !== 'user'
      if (deps.line.state.value.kind === 'live' && maySee) untracked(() => this.#askSoon())
      if (!maySee) this.#forget()
    })
  }

  /** True once the gateway has reported if a recall is active. */
  get isKnown(): ReadonlySignal<boolean> {
    return this.#isKnown
  }

  /** Text of the last recall that ended while this page was open, to call the carts in again; null if none. */
  get endedText(): ReadonlySignal<string | null> {
    return this.#endedText
  }

  /** Active recall; null if none. */
  get now(): ReadonlySignal<ActiveRecall | null> {
    return this.#now
  }

  take(message: ServerMessage): void {
    if (message.type !== 'recall') return
    if (message.event === 'ended') this.#ended(message.recall.text)
    else if (this.#now.value === null) this.#now.value = { recall: message.recall, screens: new Map() }
    this.#askSoon()
  }

  /** Calls all carts in. Throws `ApiError`, such as `recall_active`. */
  async begin(text: string): Promise<void> {
    const recall = await this.#deps.api.call('POST /recall', { body: text === '' ? {} : { text } })
    this.#now.value ??= { recall, screens: new Map() }
    this.#askSoon()
  }

  async end(): Promise<void> {
    const ended = this.#now.value?.recall.text ?? null
    await this.#deps.api.call('DELETE /recall', { body: {} })
    this.#ended(ended)
    this.#askSoon()
  }

  #ended(text: string | null): void {
    this.#now.value = null
    this.#endedText.value = text
  }

  #forget(): void {
    this.#endedText.value = null
    this.#now.value = null
    this.#isKnown.value = false
  }

  #askSoon(): void {
    this.#isDue = true
    if (this.#isAsking) return
    this.#isAsking = true
    void this.#ask()
  }

  async #ask(): Promise<void> {
    this.#isDue = false
    try {
      const { active, carts } = await this.#deps.api.call('GET /recall')
      const screens = new Map(carts.map(({ cart, screen }) => [cart, screen]))
      this.#now.value = active === null ? null : { recall: active, screens }
      this.#isKnown.value = true
    } catch {
      // requested again when the connection is back
    }
    this.#setTimer(() => {
      this.#isAsking = false
      if (this.#isDue) this.#askSoon()
    }, ASK_AGAIN_MS)
    this.#planNext()
  }

  /** Plans the next request: no message reports screens that connect or disconnect. */
  #planNext(): void {
    if (this.#isPlanned || this.#now.value === null) return
    this.#isPlanned = true
    this.#setTimer(() => {
      this.#isPlanned = false
      if (this.#now.value !== null && this.#deps.line.state.value.kind === 'live') this.#askSoon()
      else this.#planNext()
    }, ASK_EVERY_MS)
  }
}
