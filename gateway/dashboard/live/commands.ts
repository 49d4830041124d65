import { effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals-core'
import { type ApiClient, ApiError } from '#shared/client.ts'
import type { CommandJson, CommandStatus } from '#shared/wire/commands.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { GatewayConnectionState } from './gateway-connection.ts'
import { PinCancelled } from './pin-prompt.ts'

export type CommandName = 'lock' | 'unlock' | 'locate'

/** Command that a user wants to send to a device of a cart. */
export interface CommandInput {
  cart: string
  hardwareId: string
  command: CommandName
  params?: Readonly<Record<string, unknown>>
  metadata?: Readonly<Record<string, string>>
  force?: boolean
}

/**
 * Progress of a command. `sending`: the gateway has not responded. `waiting`: the gateway has it, but has not sent it
 * to the device yet. `sent`: it is on its way to the device or has arrived. `done`: the device has acknowledged it.
 * `failed` carries the code of the rejection, the reason that the device gave, or one of `signed_out`, `not_acted` (the
 * PIN prompt was cancelled), `no_contact` (nothing was sent), `no_answer` (result unknown), `expired` (sent, but not
 * acknowledged in time), `expired_unsent`.
 */
export type Stage =
  | { kind: 'sending' | 'waiting' | 'sent' | 'done' }
  | { kind: 'failed'; code: string; detail: string; retryAfterS: number | null }

/** Command with its progress, from the first question to the acknowledgement of the device. */
export interface CommandProgress {
  readonly wanted: CommandInput
  readonly stage: ReadonlySignal<Stage>
  /** Monotonic time of its last change. */
  readonly changedMs: number
}

interface DeskDeps {
  api: Pick<ApiClient, 'call'>
  line: { state: ReadonlySignal<GatewayConnectionState> }
  /** Prompts for a PIN if one is needed. Throws `PinCancelled` if the prompt is cancelled. */
  act?: <Result>(action: () => Promise<Result>) => Promise<Result>
  newKey?: () => string
  monotonicMs?: () => number
  setTimer?: (action: () => void, ms: number) => unknown
}

/** Period in which a request without a response is repeated with the same key; later the command is obsolete. */
const REPEAT_WITHIN_MS = 20_000
const REPEAT_AFTER_MS = 1_000
/** Timeout of a request, for a gateway that hangs. */
const ANSWER_WITHIN_MS = 8_000
/** Delay after the end of a command before its status is requested, because the message may have been lost. */
const ASK_AFTER_END_MS = 2_000
const ASK_AGAIN_MS = 5_000
/** Maximum number of received statuses for commands whose request has no response yet. */
const EARLY_MAX = 500

const RANKS: Record<CommandStatus, number> = {
  pending: 0,
  published: 1,
  acknowledged: 2,
  completed: 3,
  failed: 3,
  timeout: 3,
}

interface ReceivedStatus {
  status: CommandStatus
  error: string | null
}

interface Following extends CommandProgress {
  readonly stage: Signal<Stage>
  changedMs: number
  commandId: string | null
  rank: number
  wasSent: boolean
  /** Monotonic time at which the gateway gives it up. */
  endsMs: number
}

/**
 * Sends commands and follows each to its end, whichever screen is open: by realtime messages, and by requests after the
 * connection was lost or no message arrived. A command is done only when the device acknowledges it.
 */
export class CommandTracker {
  readonly #deps: DeskDeps
  readonly #newKey: () => string
  readonly #monotonicMs: () => number
  readonly #setTimer: (action: () => void, ms: number) => unknown
  /** Newest command of each cart. */
  readonly #courses = new Map<string, Following>()
  /** Unfinished commands keyed by command_id. */
  readonly #open = new Map<string, Following>()
  readonly #early = new Map<string, ReceivedStatus>()
  readonly #version = signal(0)
  #sending = 0

  constructor(deps: DeskDeps) {
    this.#deps = deps
    this.#newKey = deps.newKey ?? randomKey
    this.#monotonicMs = deps.monotonicMs ?? (() => performance.now())
    this.#setTimer = deps.setTimer ?? ((action, ms) => setTimeout(action, ms))
    let wasLive = false
    effect(() => {
      const isLive = deps.line.state.value.kind === 'live'
      if (isLive && !wasLive) untracked(() => this.#askAll())
      wasLive = isLive
    })
  }

  /** Returns the newest command to a cart, finished or not. */
  courseOf(cart: string): CommandProgress | null {
    return this.#version.value >= 0 ? (this.#courses.get(cart) ?? null) : null
  }

  /** Sends a command; the returned progress shows its result. */
  send(wanted: CommandInput): CommandProgress {
    const course: Following = {
      wanted,
      stage: signal<Stage>({ kind: 'sending' }),
      changedMs: this.#monotonicMs(),
      commandId: null,
      rank: -1,
      wasSent: false,
      endsMs: 0,
    }
    this.#courses.set(wanted.cart, course)
    this.#version.value++
    if (this.#deps.line.state.value.kind === 'live') void this.#post(course, this.#newKey())
    else this.#fail(course, 'no_contact')
    return course
  }

  /** Returns the time since its last change. */
  ageMs({ changedMs }: CommandProgress): number {
    return this.#monotonicMs() - changedMs
  }

  take(message: ServerMessage): void {
    if (message.type !== 'command_status') return
    const { commandId, status, error = null } = message
    const course = this.#open.get(commandId)
    if (course !== undefined) this.#received(course, { status, error })
    else if (this.#sending > 0 && this.#early.size < EARLY_MAX) this.#early.set(commandId, { status, error })
  }

  /** Clears all commands when a different user signs in. */
  clear(): void {
    for (const known of [this.#courses, this.#open, this.#early]) known.clear()
    this.#version.value++
  }

  async #post(course: Following, key: string): Promise<void> {
    const { hardwareId, cart: _, ...body } = course.wanted
    const call = { path: { id: hardwareId }, body, headers: { 'Idempotency-Key': key } }
    this.#sending++
    try {
      const { api, act = (action) => action() } = this.#deps
      const command = await act(() => api.call('POST /devices/{id}/commands', { ...call, signal: this.#patience() }))
      this.#accepted(course, command)
    } catch (error) {
      this.#unanswered(course, key, error)
    } finally {
      this.#sending--
      if (this.#sending === 0) this.#early.clear()
    }
  }

  #accepted(course: Following, command: CommandJson): void {
    const { command_id: commandId, created_at, expires_at } = command
    course.commandId = commandId
    this.#open.set(commandId, course)
    this.#received(course, command)
    const early = this.#early.get(commandId)
    if (early !== undefined) this.#received(course, early)
    const livesMs = Date.parse(expires_at) - Date.parse(created_at)
    course.endsMs = this.#monotonicMs() + livesMs
    this.#setTimer(() => void this.#ask(course), livesMs + ASK_AFTER_END_MS)
  }

  #unanswered(course: Following, key: string, error: unknown): void {
    // a response of an intermediary, such as a proxy, does not count as one of the gateway
    if (error instanceof ApiError && error.code !== 'unexpected_answer') this.#refused(course, error)
    else if (error instanceof PinCancelled) this.#fail(course, 'not_acted')
    else if (this.#monotonicMs() - course.changedMs > REPEAT_WITHIN_MS) this.#fail(course, 'no_answer')
    else this.#setTimer(() => void this.#post(course, key), REPEAT_AFTER_MS)
  }

  #refused(course: Following, { status, code, detail, retryAfterS }: ApiError): void {
    this.#fail(course, status === 401 ? 'signed_out' : code, detail, retryAfterS ?? null)
  }

  #received(course: Following, { status, error }: ReceivedStatus): void {
    if (RANKS[status] <= course.rank) return
    course.rank = RANKS[status]
    if (status === 'pending') this.#move(course, { kind: 'waiting' })
    else if (status === 'completed') this.#move(course, { kind: 'done' })
    else if (status === 'timeout') this.#fail(course, course.wasSent ? 'expired' : 'expired_unsent')
    else if (status === 'failed') this.#fail(course, error ?? 'refused')
    else {
      course.wasSent = true
      this.#move(course, { kind: 'sent' })
    }
    if (course.rank === RANKS.completed && course.commandId !== null) this.#open.delete(course.commandId)
  }

  #askAll(): void {
    for (const course of this.#open.values()) void this.#ask(course)
  }

  async #ask(course: Following): Promise<void> {
    const { commandId } = course
    if (commandId === null || !this.#open.has(commandId)) return
    const call = { path: { id: commandId }, signal: this.#patience() }
    try {
      const command = await this.#deps.api.call('GET /commands/{id}', call)
      course.wasSent ||= command.published_at !== null
      this.#received(course, command)
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) {
        this.#open.delete(commandId)
        this.#refused(course, error)
      }
    }
    const isOverdue = this.#open.has(commandId) && this.#monotonicMs() >= course.endsMs
    if (isOverdue) this.#setTimer(() => void this.#ask(course), ASK_AGAIN_MS)
  }

  #fail(course: Following, code: string, detail = '', retryAfterS: number | null = null): void {
    this.#move(course, { kind: 'failed', code, detail, retryAfterS })
  }

  #move(course: Following, stage: Stage): void {
    course.changedMs = this.#monotonicMs()
    course.stage.value = stage
  }

  #patience(): AbortSignal {
    const controller = new AbortController()
    this.#setTimer(() => controller.abort(), ANSWER_WITHIN_MS)
    return controller.signal
  }
}

/** Builds a key without `randomUUID`, which a page over plain HTTP does not have. */
export function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
