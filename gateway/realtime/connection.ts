import { WebSocket } from 'ws'
import type { Caller } from '#domain/access.ts'
import { newUuid } from '#shared/ids.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
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
/** How long a closed connection may take to say goodbye. */
const GOODBYE_MS = 5_000
const WINDOW_MS = 10_000
const MESSAGES_A_WINDOW = 500

/** One client of `/realtime`. */
export class RealtimeConnection implements Watcher {
  readonly connectionId = newUuid()
  readonly userId: string
  /** Of the network. */
  readonly address: string
  caller: Caller
  readonly watched = new Set<string>()
  watchesAll = false
  readonly #socket: WebSocket
  #missedPongs = 0
  #windowEndsAtMs = 0
  #messages = 0

  constructor(socket: WebSocket, caller: Caller, address: string) {
    this.#socket = socket
    this.address = address
    this.caller = caller
    this.userId = caller.userId
    socket.on('pong', () => {
      this.#missedPongs = 0
    })
  }

  /** Returns false when the reader was too slow and is gone. */
  send(message: ServerMessage): boolean {
    return this.sendFrame(encodeFrame(message))
  }

  /** Sends what `encodeFrame` made; returns false when the reader was too slow and is gone. */
  sendFrame(frame: Buffer): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) {
      this.close(CLOSE.slow, 'too slow')
      return false
    }
    this.#socket.send(frame, { binary: false })
    return true
  }

  close(code: number, reason: string): void {
    closeWebSocket(this.#socket, code, reason)
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

/** A message as it goes over the wire: made once, sent to many. */
export function encodeFrame(message: ServerMessage): Buffer {
  return Buffer.from(JSON.stringify(message))
}
