import { type ReadonlySignal, signal } from '@preact/signals-core'
import { systemClock } from '#shared/time.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { GatewayClock } from './gateway-clock.ts'

const CHECK_MS = 1_000
const PING_EVERY_MS = 4_000
/** Timeout of a ping: without any message for so long, the connection is lost, even if the browser reports it open. */
const ANSWER_MS = 8_000
/** Timeout of the ping after a tablet woke up or its network came back: most likely the connection is lost. */
const HURRIED_ANSWER_MS = 3_000
/** Timeout for admitting a new socket; doubled each time, for a gateway that is busy with its start. */
const LET_IN_MS = { first: 5_000, most: 20_000 }
const BACK_OFF_MS = { first: 500, most: 5_000 }
/** Minimum lifetime of a connection to reopen without a delay: tabs of one session may take it from each other. */
const STEADY_MS = 10_000
/** Timer delay from which tablet and connection must have slept: browsers run timers of hidden pages once a minute. */
const SLEPT_MS = 75_000
/** Close code of the gateway for an invalid session or key. */
const NOT_SIGNED_IN = 4401

/** `lost` carries the time of the last message, by the gateway's clock; after `ended` a user must sign in. */
export type GatewayConnectionState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'lost'; sinceMs: number }
  | { kind: 'ended' }

export interface LineSocket {
  send(text: string): void
  close(): void
}

export interface LineEvents {
  received(text: string): void
  /** Also called if it was never open. */
  closed(code: number): void
}

export interface LineDeps {
  open: (events: LineEvents) => LineSocket
  clock: GatewayClock
  /** Receives every message, in order; `connected` and `snapshot` first. */
  take: (message: ServerMessage) => void
  /** Monotonic time; in some browsers it stands still while the tablet sleeps. */
  monotonicMs?: () => number
  /** Clock of the tablet, however wrong: only elapsed time is used. */
  wallMs?: () => number
  random?: () => number
}

interface Mark {
  monotonicMs: number
  wallMs: number
}

/** WebSocket to the gateway: reopened indefinitely, and detected as lost even without an event. */
export class GatewayConnection {
  readonly #deps: LineDeps
  readonly #state = signal<GatewayConnectionState>({ kind: 'connecting' })
  #socket: LineSocket | null = null
  #isLetIn = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #checkTimer: ReturnType<typeof setInterval> | undefined
  #checked: Mark
  #opened: Mark
  #lastReceived: Mark
  #asked: Mark
  #lived: Mark
  /** Timeout of the last ping; null once its pong has arrived. */
  #patienceMs: number | null = null
  #pings = 0
  #tries = 0
  #unanswered = 0

  constructor(deps: LineDeps) {
    this.#deps = deps
    const mark = this.#mark()
    this.#checked = mark
    this.#opened = mark
    this.#lastReceived = mark
    this.#asked = mark
    this.#lived = mark
  }

  get state(): ReadonlySignal<GatewayConnectionState> {
    return this.#state
  }

  /** Returns the time since the last message, as far as the tablet knows. */
  silentForMs(): number {
    return this.#since(this.#lastReceived)
  }

  start(): void {
    this.stop()
    this.#tries = 0
    this.#unanswered = 0
    this.#lastReceived = this.#mark()
    this.#checked = this.#lastReceived
    this.#state.value = { kind: 'connecting' }
    this.#open()
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#checkTimer)
    this.#checkTimer = undefined
    this.#drop()
  }

  /** Requests a new snapshot for the current user; without a connection, the next one requests it. */
  subscribe(): void {
    if (this.#isLetIn) this.#socket?.send(JSON.stringify({ type: 'subscribe', hardwareIds: ['*'], snapshot: true }))
  }

  /** Reconnects without a delay after the tablet woke up or its network came back. */
  hurry(): void {
    const { kind } = this.#state.value
    if (kind === 'ended' || this.#checkTimer === undefined) return
    if (this.#isLetIn && this.#since(this.#lastReceived) < SLEPT_MS) {
      this.#ask(HURRIED_ANSWER_MS)
      return
    }
    // state received before the tablet slept is outdated
    if (kind === 'live') this.#say()
    const isUnderWay = this.#socket !== null && !this.#isLetIn && this.#since(this.#opened) < CHECK_MS
    if (isUnderWay) return
    this.#tries = 0
    this.#open()
  }

  #open(): void {
    clearTimeout(this.#timer)
    this.#drop()
    this.#isLetIn = false
    this.#patienceMs = null
    this.#opened = this.#mark()
    this.#asked = this.#opened
    const socket = this.#deps.open({
      received: (text) => socket === this.#socket && this.#receive(text),
      closed: (code) => socket === this.#socket && this.#closed(code),
    })
    this.#socket = socket
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #receive(text: string): void {
    this.#lastReceived = this.#mark()
    this.#patienceMs = null
    // the gateway builds its messages from the same types
    const message = JSON.parse(text) as ServerMessage
    if (message.type === 'connected') this.#letIn(message.time)
    // the pong of an older ping does not measure this round trip
    if (message.type === 'pong' && message.id === this.#pings)
      this.#deps.clock.received(Date.parse(message.time), this.#since(this.#asked))
    this.#deps.take(message)
    if (message.type !== 'snapshot') return
    this.#lived = this.#lastReceived
    this.#state.value = { kind: 'live' }
  }

  #letIn(time: string): void {
    this.#isLetIn = true
    this.#unanswered = 0
    this.#deps.clock.received(Date.parse(time))
    this.subscribe()
  }

  #closed(code: number): void {
    this.#socket = null
    if (code === NOT_SIGNED_IN) this.#ended()
    else this.#lost()
  }

  #ended(): void {
    this.stop()
    this.#isLetIn = false
    this.#deps.clock.freeze()
    this.#state.value = { kind: 'ended' }
  }

  #lost(): void {
    this.#drop()
    const isSteady = this.#state.value.kind === 'live' && this.#since(this.#lived) >= STEADY_MS
    if (isSteady) this.#tries = 0
    this.#say()
    const random = (this.#deps.random ?? Math.random)()
    const mostMs = Math.min(BACK_OFF_MS.most, BACK_OFF_MS.first * 2 ** ++this.#tries)
    const ms = BACK_OFF_MS.first + random * (mostMs - BACK_OFF_MS.first)
    this.#timer = setTimeout(() => this.#open(), ms)
  }

  /** Publishes that the state shown is the last known one. */
  #say(): void {
    this.#isLetIn = false
    const { clock } = this.#deps
    clock.freeze()
    if (this.#state.value.kind === 'lost') return
    const agoMs = this.#mark().monotonicMs - this.#lastReceived.monotonicMs
    this.#state.value = { kind: 'lost', sinceMs: Math.max(0, clock.nowMs() - agoMs) }
  }

  #check(): void {
    const sleptMs = this.#since(this.#checked)
    this.#checked = this.#mark()
    if (sleptMs >= SLEPT_MS) this.hurry()
    else if (this.#socket !== null && this.#isLetIn) this.#checkPing()
    else if (this.#socket !== null) this.#checkOpening()
  }

  #checkOpening(): void {
    const patienceMs = Math.min(LET_IN_MS.most, LET_IN_MS.first * 2 ** this.#unanswered)
    if (this.#since(this.#opened) < patienceMs) return
    this.#unanswered++
    this.#lost()
  }

  #checkPing(): void {
    const askedMs = this.#since(this.#asked)
    if (this.#patienceMs !== null && askedMs >= this.#patienceMs) this.#lost()
    else if (this.#patienceMs === null && askedMs >= PING_EVERY_MS) this.#ask(ANSWER_MS)
  }

  #ask(patienceMs: number): void {
    this.#asked = this.#mark()
    this.#patienceMs = patienceMs
    this.#socket?.send(JSON.stringify({ type: 'ping', id: ++this.#pings }))
  }

  #mark(): Mark {
    const { monotonicMs = systemClock.monotonicMs, wallMs = systemClock.nowMs } = this.#deps
    return { monotonicMs: monotonicMs(), wallMs: wallMs() }
  }

  /** Takes the larger elapsed time, because one clock may stand still during sleep or be set back. */
  #since(mark: Mark): number {
    const now = this.#mark()
    return Math.max(now.monotonicMs - mark.monotonicMs, now.wallMs - mark.wallMs)
  }
}
