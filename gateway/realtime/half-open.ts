import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { KeyGuard } from '#services/people/key-guard.ts'
import type { Login } from '#services/people/login.ts'
import { addressOwner } from '#shared/budgets/address.ts'
import type { Slots } from '#shared/budgets/slots.ts'
import type { Counter } from '#shared/counter.ts'
import { AppError, RateLimitedError, UnauthenticatedError } from '#shared/errors.ts'
import { parseMessage } from './client-message.ts'
import { CLOSE, closeWebSocket } from './connection.ts'

/** Timeout of the first message, which must have the key. */
const AUTHENTICATE_MS = 10_000

interface HalfOpenDeps {
  keyGuard: Pick<KeyGuard, 'admit'>
  /** Slots, keyed by address. */
  slots: Slots
  closed: Counter
}

/** WebSockets without login. The first message must be `authenticate`: browsers send no header, URLs are logged. */
export class HalfOpen {
  readonly #deps: HalfOpenDeps
  readonly #waiting = new Set<WebSocket>()

  constructor(deps: HalfOpenDeps) {
    this.#deps = deps
  }

  /** Takes a slot, released on close or by the returned function. Throws `rate_limited` if its address has none. */
  take(stream: Duplex, address: string): () => void {
    const { slots } = this.#deps
    const owner = addressOwner(address)
    if (!slots.take(owner))
      throw new RateLimitedError(
        'too many WebSockets that have not logged in come from this address',
        AUTHENTICATE_MS / 1_000,
      )
    let isTaken = true
    const release = () => {
      if (isTaken) slots.release(owner)
      isTaken = false
    }
    stream.once('close', release)
    return release
  }

  /** Reads one message: calls `onLogin` with the login of its key, or closes. */
  wait(webSocket: WebSocket, address: string, onLogin: (login: Login) => void): void {
    const timer = setTimeout(() => this.#close(webSocket, CLOSE.unauthenticated, 'no key in time'), AUTHENTICATE_MS)
    const pong = (data: Buffer) => webSocket.pong(data)
    const over = () => {
      clearTimeout(timer)
      webSocket.off('ping', pong)
      this.#waiting.delete(webSocket)
    }
    this.#waiting.add(webSocket)
    webSocket.on('ping', pong)
    webSocket.once('close', over)
    webSocket.once('message', (data, isBinary) => {
      // ignores messages that arrive after the close frame was sent
      if (webSocket.readyState !== webSocket.OPEN) return
      over()
      const login = isBinary ? this.#refuseBinary(webSocket) : this.#judge(webSocket, data.toString(), address)
      if (login !== undefined) onLogin(login)
    })
  }

  closeAll(code: number, reason: string): void {
    for (const webSocket of this.#waiting) closeWebSocket(webSocket, code, reason)
  }

  #refuseBinary(webSocket: WebSocket): undefined {
    this.#close(webSocket, CLOSE.binary, 'text only')
  }

  /** Returns the login of the key in a message; without one, sends the client the reason and closes. */
  #judge(webSocket: WebSocket, text: string, address: string): Login | undefined {
    try {
      return this.#deps.keyGuard.admit(keyIn(text), address)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { kind, code, message } = error
      webSocket.send(JSON.stringify({ type: 'error', code, message }))
      const isUnauthenticated = kind !== 'rate_limited'
      this.#close(
        webSocket,
        isUnauthenticated ? CLOSE.unauthenticated : CLOSE.slow,
        isUnauthenticated ? 'no key' : 'too many requests',
      )
      return undefined
    }
  }

  #close(webSocket: WebSocket, code: number, reason: string): void {
    this.#deps.closed.add(reason.replaceAll(' ', '_'))
    closeWebSocket(webSocket, code, reason)
  }
}

/** Returns the key in a first message; throws an error that explains why it has no key. */
function keyIn(text: string): string {
  const message = parseMessage(text)
  if (message.type === 'authenticate') return message.apiKey
  if (message.type === 'error') throw new AppError('invalid', message.code, message.message)
  throw new UnauthenticatedError('missing_api_key', 'send {"type":"authenticate","apiKey":"…"} first')
}
