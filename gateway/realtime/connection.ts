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

/** Limit of unread bytes; the connection of a slower reader is closed. */
const MAX_UNREAD_BYTES = 1_048_576
/** Limit of joined frames; beyond it they are written immediately: longer chunks save nothing and count as one. */
const MAX_JOINED_BYTES = 262_144
/** Timeout of the closing handshake. */
const GOODBYE_MS = 5_000
const WINDOW_MS = 10_000
const MESSAGES_A_WINDOW = 500

/**
 * Options of ws for connections that also write to its stream. Without compression, which would cost more per socket
 * than everything else, ws writes immediately. It must not answer pings before the pending frames are written.
 */
export const WEB_SOCKET_SETTINGS = { perMessageDeflate: false, autoPong: false } as const

/**
 * WebSocket, and its stream, to which joined frames are written, because ws cannot send several in one write.
 * `ws-contract.test.ts` lists the behaviour of ws that this relies on.
 */
export interface Channel {
  webSocket: WebSocket
  stream: Duplex
}

interface Source {
  /** Queues the frames of all that happened before, so that the next message does not overtake them. */
  settle(): void
  /** Called when the client does not read what it is sent. */
  tooSlow(): void
}

export class RealtimeConnection implements Watcher {
  readonly connectionId = newUuid()
  readonly login: Login
  /** User of the key or the session, even while a PIN user is signed in. */
  readonly userId: string
  readonly address: string
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
    // not by ws, which would answer before the pending frames
    webSocket.on('ping', (data) => {
      source.settle()
      this.flush()
      webSocket.pong(data)
    })
  }

  /** Bytes that were written and that the client has not read. */
  get unreadBytes(): number {
    return this.#stream.writableLength
  }

  /** Sends a message immediately, after all pending frames. */
  send(message: ServerMessage): void {
    this.#source.settle()
    this.enqueue(new Frame(message))
    this.flush()
  }

  /** Queues a frame, or its masked form if the caller must not see codes, until the next `flush`. */
  enqueue(frame: Frame): void {
    const shown = canSeeCodes(this.caller) ? frame : frame.masked
    const pending = this.#pending === undefined ? shown.alone : this.#pending.followedBy(shown)
    this.#pending = pending
    if (pending.bytes > MAX_JOINED_BYTES) this.flush()
  }

  /** Writes the pending frames in one chunk. */
  flush(): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    if (this.#socket.readyState !== WebSocket.OPEN) return
    if (this.unreadBytes > MAX_UNREAD_BYTES) this.#source.tooSlow()
    else this.#stream.write(pending.join())
  }

  /** Limits pending and future frames to what `caller` may see. */
  narrow(caller: Caller): void {
    this.caller = caller
    const due = this.#pending?.frames() ?? []
    this.#pending = undefined
    for (const frame of due) if (frame.hardwareIds.every((id) => canSee(caller, id))) this.enqueue(frame)
  }

  /** Returns the current permissions. Throws if access was revoked, or the PIN user is not that of `caller`. */
  requireSame(caller: Caller): Caller {
    return requireStillIn(this.login, caller)
  }

  /** Closes the connection and drops pending frames; call `flush` first to send them. */
  close(code: number, reason: string): void {
    this.#pending = undefined
    closeWebSocket(this.#socket, code, reason)
  }

  /** Ends the connection without a closing handshake. */
  terminate(): void {
    this.#socket.terminate()
  }

  /** Sends a ping; ends the connection if the last two were not answered. */
  ping(): void {
    if (this.#missedPongs >= 2) {
      this.#socket.terminate()
      return
    }
    this.#missedPongs++
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  /** Counts a message of the client; returns false beyond the limit. */
  admitMessage(nowMs: number): boolean {
    if (nowMs >= this.#windowEndsAtMs) {
      this.#windowEndsAtMs = nowMs + WINDOW_MS
      this.#messages = 0
    }
    return ++this.#messages <= MESSAGES_A_WINDOW
  }
}

/** Closes a WebSocket with a handshake, and ends it without one after a timeout. */
export function closeWebSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason)
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref()
}
