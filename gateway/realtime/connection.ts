import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { type Caller, canSee, canSeeCodes } from '#domain/access.ts'
import { type Login, requireStillIn } from '#services/people/login.ts'
import { newUuid } from '#shared/ids.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import { Frame, type PendingFrames } from './frames.ts'
import type { Watcher } from './subscriptions.ts'

export const CLOSE = {
  shutdown: 1001,
  binary: 1003,
  abuse: 1008,
  slow: 1013,
  unauthenticated: 4401,
} as const

/** Unread bytes after which a reader is too slow to keep. */
const MAX_UNREAD_BYTES = 1_048_576
/**
 * What is due beyond this is written at once: pieces that are longer cost no less, and count as unread all together.
 */
const MAX_JOINED_BYTES = 262_144
/** How long a closed connection may take to say goodbye. */
const GOODBYE_MS = 5_000
const WINDOW_MS = 10_000
const MESSAGES_A_WINDOW = 500

/**
 * How ws has to be set up for connections that write beside it. Without compression, which for each socket would cost
 * more than all else, ws writes what it sends at once; and it is not to answer pings before what is due.
 */
export const WEB_SOCKET_SETTINGS = { perMessageDeflate: false, autoPong: false } as const

/**
 * A WebSocket, and the stream beneath it, to which joined frames are written: ws has no word for several at once.
 * `ws-contract.test.ts` says what of ws this relies on.
 */
export interface Channel {
  webSocket: WebSocket
  stream: Duplex
}

interface Source {
  /** Makes due what happened before: what is sent must not overtake it. */
  settle(): void
  /** The client does not read what it is sent. */
  tooSlow(): void
}

/** One client of `/realtime`. */
export class RealtimeConnection implements Watcher {
  readonly connectionId = newUuid()
  readonly login: Login
  /** Of the key or the session, whoever acts on it. */
  readonly userId: string
  /** Of the network. */
  readonly address: string
  /** What it may do as things are. */
  caller: Caller
  readonly watched = new Set<string>()
  watchesAll = false
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #source: Source
  #pending: PendingFrames | undefined
  #missedPongs = 0
  #windowEndsAtMs = 0
  #messages = 0

  constructor({ webSocket, stream }: Channel, login: Login, address: string, source: Source) {
    this.#socket = webSocket
    this.#stream = stream
    this.#source = source
    this.address = address
    this.login = login
    this.caller = login.callerNow() ?? login.caller
    this.userId = login.row.userId
    webSocket.on('pong', () => {
      this.#missedPongs = 0
    })
    // not by ws, which would answer before what is due
    webSocket.on('ping', (data) => {
      source.settle()
      this.flush()
      webSocket.pong(data)
    })
  }

  /** Bytes that were written and that the client has not taken. */
  get unreadBytes(): number {
    return this.#stream.writableLength
  }

  /** Sends a message behind all that is due, now. */
  send(message: ServerMessage): void {
    this.#source.settle()
    this.enqueue(new Frame(message))
    this.flush()
  }

  /** Sends a frame, or what of it this caller may see, with the next `flush`. */
  enqueue(frame: Frame): void {
    const shown = canSeeCodes(this.caller) ? frame : frame.masked
    const pending = this.#pending === undefined ? shown.alone : this.#pending.followedBy(shown)
    this.#pending = pending
    if (pending.bytes > MAX_JOINED_BYTES) this.flush()
  }

  /** Writes what is due, in one piece. */
  flush(): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    if (this.#socket.readyState !== WebSocket.OPEN) return
    if (this.unreadBytes > MAX_UNREAD_BYTES) this.#source.tooSlow()
    else this.#stream.write(pending.join())
  }

  /** Holds what is due to what `caller` may see, as all that comes. */
  narrow(caller: Caller): void {
    this.caller = caller
    const due = this.#pending?.frames() ?? []
    this.#pending = undefined
    for (const frame of due) if (frame.hardwareIds.every((id) => canSee(caller, id))) this.enqueue(frame)
  }

  /** What it may do now. Throws when it is not let in any more, or another person acts than `caller`. */
  requireSame(caller: Caller): Caller {
    return requireStillIn(this.login, caller)
  }

  /** Closes without what is due: `flush` sends that. */
  close(code: number, reason: string): void {
    this.#pending = undefined
    closeWebSocket(this.#socket, code, reason)
  }

  /** Ends the connection without a word. */
  terminate(): void {
    this.#socket.terminate()
  }

  /** Asks for a sign of life; ends the connection when the last two were not answered. */
  ping(): void {
    if (this.#missedPongs >= 2) {
      this.#socket.terminate()
      return
    }
    this.#missedPongs++
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  /** Counts a message of the client; false when it sends more than the limit. */
  admitMessage(nowMs: number): boolean {
    if (nowMs >= this.#windowEndsAtMs) {
      this.#windowEndsAtMs = nowMs + WINDOW_MS
      this.#messages = 0
    }
    return ++this.#messages <= MESSAGES_A_WINDOW
  }
}

/** Says goodbye, and does not wait for the answer for ever. */
export function closeWebSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason)
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref()
}
