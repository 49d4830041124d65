import { type ReadonlySignal, signal } from '@preact/signals-core'
import { systemClock } from '#shared/time.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { GatewayClock } from './gateway-clock.ts'

const LOOK_MS = 1_000
const PING_EVERY_MS = 4_000
/** A line on which a ping stays without any answer for so long is gone, whatever the browser thinks. */
const ANSWER_MS = 8_000
/** The same for the ping of a tablet that woke up, or whose network came back: most likely the line is gone. */
const HURRIED_ANSWER_MS = 3_000
/** How long a new socket may take to be let in; twice as long each time, for a gateway that is busy with a start. */
const LET_IN_MS = { first: 5_000, most: 20_000 }
const BACK_OFF_MS = { first: 500, most: 5_000 }
/** A line that stood shorter is not opened again at once: some tabs of one session may take it from each other. */
const STEADY_MS = 10_000
/** Browsers look at hidden pages once a minute: timers that were later than that have slept, and the line with them. */
const SLEPT_MS = 75_000
/** How the gateway closes the socket of a session or key that is not valid. */
const NOT_SIGNED_IN = 4401

/**
 * `lost` carries when the gateway was heard last, by its clock; `ended`: the session is over, somebody must sign in.
 */
export type GatewayConnectionState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'lost'; sinceMs: number }
  | { kind: 'ended' }

/** What a line needs of its socket. */
export interface LineSocket {
  send(text: string): void
  close(): void
}

/** What a socket tells its line. */
export interface LineEvents {
  heard(text: string): void
  /** Also when it was never open. */
  closed(code: number): void
}

export interface LineDeps {
  open: (events: LineEvents) => LineSocket
  clock: GatewayClock
  /** Every message, in order; `connected` and `snapshot` first. */
  take: (message: ServerMessage) => void
  /** Time that goes by; in some browsers it stands still while the tablet sleeps. */
  monotonicMs?: () => number
  /** The tablet's own clock, however wrong: only what goes by on it counts. */
  wallMs?: () => number
  random?: () => number
}

interface Mark {
  monotonicMs: number
  wallMs: number
}

/** The WebSocket to the gateway: opened again for ever, and known to be gone also when nothing says so. */
export class GatewayConnection {
  readonly #deps: LineDeps
  readonly #state = signal<GatewayConnectionState>({ kind: 'connecting' })
  #socket: LineSocket | null = null
  #isLetIn = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #beat: ReturnType<typeof setInterval> | undefined
  #looked: Mark
  #opened: Mark
  #heard: Mark
  #asked: Mark
  #lived: Mark
  /** How long the answer to the last ping may take; null when it has come. */
  #patienceMs: number | null = null
  #pings = 0
  #tries = 0
  #unheard = 0

  constructor(deps: LineDeps) {
    this.#deps = deps
    const mark = this.#mark()
    this.#looked = mark
    this.#opened = mark
    this.#heard = mark
    this.#asked = mark
    this.#lived = mark
  }

  get state(): ReadonlySignal<GatewayConnectionState> {
    return this.#state
  }

  /** How long nothing was heard, for as long as the tablet knows. */
  silentForMs(): number {
    return this.#since(this.#heard)
  }

  start(): void {
    this.stop()
    this.#tries = 0
    this.#unheard = 0
    this.#heard = this.#mark()
    this.#looked = this.#heard
    this.#state.value = { kind: 'connecting' }
    this.#open()
    this.#beat = setInterval(() => this.#look(), LOOK_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#beat)
    this.#beat = undefined
    this.#drop()
  }

  /** Asks how everything is, for whoever acts now; a line that is not there asks when it is. */
  subscribe(): void {
    if (this.#isLetIn) this.#socket?.send(JSON.stringify({ type: 'subscribe', hardwareIds: ['*'], snapshot: true }))
  }

  /** The tablet woke up, or its network came back: no need to wait. */
  hurry(): void {
    const { kind } = this.#state.value
    if (kind === 'ended' || this.#beat === undefined) return
    if (this.#isLetIn && this.#since(this.#heard) < SLEPT_MS) {
      this.#ask(HURRIED_ANSWER_MS)
      return
    }
    // what was said before the tablet slept is not how things are
    if (kind === 'live') this.#say()
    const isUnderWay = this.#socket !== null && !this.#isLetIn && this.#since(this.#opened) < LOOK_MS
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
      heard: (text) => socket === this.#socket && this.#hear(text),
      closed: (code) => socket === this.#socket && this.#closed(code),
    })
    this.#socket = socket
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #hear(text: string): void {
    this.#heard = this.#mark()
    this.#patienceMs = null
    // what the gateway sends is typed by what it builds it from
    const message = JSON.parse(text) as ServerMessage
    if (message.type === 'connected') this.#letIn(message.time)
    // the answer to an older ping says nothing of how long this one took
    if (message.type === 'pong' && message.id === this.#pings)
      this.#deps.clock.heard(Date.parse(message.time), this.#since(this.#asked))
    this.#deps.take(message)
    if (message.type !== 'snapshot') return
    this.#lived = this.#heard
    this.#state.value = { kind: 'live' }
  }

  #letIn(time: string): void {
    this.#isLetIn = true
    this.#unheard = 0
    this.#deps.clock.heard(Date.parse(time))
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

  /** From now on the tablet shows what was known, and says so. */
  #say(): void {
    this.#isLetIn = false
    const { clock } = this.#deps
    clock.freeze()
    if (this.#state.value.kind === 'lost') return
    const agoMs = this.#mark().monotonicMs - this.#heard.monotonicMs
    this.#state.value = { kind: 'lost', sinceMs: Math.max(0, clock.nowMs() - agoMs) }
  }

  #look(): void {
    const sleptMs = this.#since(this.#looked)
    this.#looked = this.#mark()
    if (sleptMs >= SLEPT_MS) this.hurry()
    else if (this.#socket !== null && this.#isLetIn) this.#lookAtAnswers()
    else if (this.#socket !== null) this.#lookAtDoor()
  }

  #lookAtDoor(): void {
    const patienceMs = Math.min(LET_IN_MS.most, LET_IN_MS.first * 2 ** this.#unheard)
    if (this.#since(this.#opened) < patienceMs) return
    this.#unheard++
    this.#lost()
  }

  #lookAtAnswers(): void {
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

  /** A clock that stood still while the tablet slept, or was set back, is not the one that counts. */
  #since(mark: Mark): number {
    const now = this.#mark()
    return Math.max(now.monotonicMs - mark.monotonicMs, now.wallMs - mark.wallMs)
  }
}
