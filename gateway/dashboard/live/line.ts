import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { GatewayClock } from './gateway-clock.ts'

const PING_EVERY_MS = 8_000
/** A line on which nothing came for so long is gone, whatever the browser thinks. */
const SILENT_MS = 17_000
const BACK_OFF_MS = { first: 500, most: 5_000 }
/** How the gateway closes the socket of a session or key that is not valid. */
const NOT_SIGNED_IN = 4401

/** `lost` carries when the gateway was heard last, by its clock; `ended`: the session is over, somebody must sign in. */
export type LineState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'lost'; sinceMs: number }
  | { kind: 'ended' }

/** What a line needs of its socket. */
export type LineSocket = Pick<WebSocket, 'send' | 'close' | 'addEventListener'>

export interface LineDeps {
  open: () => LineSocket
  clock: GatewayClock
  /** Every message, in order; `connected` and `snapshot` first. */
  take: (message: ServerMessage) => void
  monotonicMs?: () => number
  random?: () => number
}

/** The WebSocket to the gateway: opened again for ever, and known to be gone also when nothing says so. */
export class Line {
  readonly #deps: LineDeps
  readonly #state = signal<LineState>({ kind: 'connecting' })
  readonly #monotonicMs: () => number
  #socket: LineSocket | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #beat: ReturnType<typeof setInterval> | undefined
  #heardMs = 0
  #askedMs = 0
  #tries = 0

  constructor(deps: LineDeps) {
    this.#deps = deps
    this.#monotonicMs = deps.monotonicMs ?? (() => performance.now())
  }

  get state(): ReadonlySignal<LineState> {
    return this.#state
  }

  start(): void {
    this.stop()
    this.#tries = 0
    this.#state.value = { kind: 'connecting' }
    this.#open()
    this.#beat = setInterval(() => this.#check(), 1_000)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#beat)
    this.#drop()
  }

  /** The tablet woke up, or its network came back: no need to wait. */
  hurry(): void {
    const { kind } = this.#state.value
    if (kind === 'live') this.#ask()
    if (kind === 'live' || kind === 'ended') return
    this.#tries = 0
    this.#open()
  }

  #open(): void {
    clearTimeout(this.#timer)
    this.#drop()
    const socket = this.#deps.open()
    this.#socket = socket
    this.#heardMs = this.#monotonicMs()
    this.#askedMs = this.#heardMs
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      if (socket === this.#socket) this.#hear(String(data))
    })
    socket.addEventListener('close', ({ code }: { code: number }) => {
      if (socket === this.#socket) this.#closed(code)
    })
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #hear(text: string): void {
    this.#heardMs = this.#monotonicMs()
    // what the gateway sends is typed by what it builds it from
    const message = JSON.parse(text) as ServerMessage
    if (message.type === 'connected') {
      this.#deps.clock.heard(Date.parse(message.time))
      this.#socket?.send(JSON.stringify({ type: 'subscribe', hardwareIds: ['*'], snapshot: true }))
    }
    if (message.type === 'pong')
      this.#deps.clock.heard(Date.parse(message.time), this.#monotonicMs() - this.#askedMs)
    this.#deps.take(message)
    if (message.type === 'snapshot') {
      this.#tries = 0
      this.#state.value = { kind: 'live' }
    }
  }

  #closed(code: number): void {
    this.#socket = null
    if (code === NOT_SIGNED_IN) {
      this.stop()
      this.#deps.clock.freeze()
      this.#state.value = { kind: 'ended' }
      return
    }
    this.#lost()
  }

  #lost(): void {
    this.#drop()
    this.#deps.clock.freeze()
    if (this.#state.value.kind !== 'lost')
      this.#state.value = { kind: 'lost', sinceMs: this.#deps.clock.nowMs() }
    const random = (this.#deps.random ?? Math.random)()
    const ms = Math.min(BACK_OFF_MS.most, BACK_OFF_MS.first * 2 ** this.#tries++)
    this.#timer = setTimeout(() => this.#open(), ms * (0.5 + random / 2))
  }

  #check(): void {
    if (this.#socket === null) return
    const nowMs = this.#monotonicMs()
    if (nowMs - this.#heardMs > SILENT_MS) this.#lost()
    else if (nowMs - this.#askedMs >= PING_EVERY_MS) this.#ask()
  }

  #ask(): void {
    this.#askedMs = this.#monotonicMs()
    this.#socket?.send(JSON.stringify({ type: 'ping' }))
  }
}
