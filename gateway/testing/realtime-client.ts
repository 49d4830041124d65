import { once } from 'node:events'
import { WebSocket } from 'ws'

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
type Message = any

/** Timeout for expected messages that do not arrive. */
const TIMEOUT_MS = 45_000
/**
 * Messages about carts, which follow nearly every change some moments later: kept separate, for tests that request
 * them.
 */
const ABOUT_CARTS: ReadonlySet<string> = new Set(['cart', 'cart_removed'])

/** Client of `/realtime` that keeps received messages until the test reads them. */
export class RealtimeClient {
  readonly socket: WebSocket
  /** Received messages, in order. */
  readonly received: Message[] = []
  readonly #messages: Message[] = []
  readonly #aboutCarts: Message[] = []
  #wake: (() => void) | undefined

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data) => {
      const message = JSON.parse(data.toString())
      this.received.push(message)
      if (ABOUT_CARTS.has(message.type)) this.#aboutCarts.push(message)
      else this.#messages.push(message)
      this.#wake?.()
    })
    socket.on('error', () => undefined)
  }

  /** Resolves when the channel is open; rejects with the status in the message if the upgrade is rejected. */
  static async open(
    url: string,
    headers: Record<string, string> = {},
    trust: { ca?: Buffer; rejectUnauthorized?: boolean } = {},
  ): Promise<RealtimeClient> {
    const socket = new WebSocket(url, { headers, ...trust })
    const client = new RealtimeClient(socket)
    await once(socket, 'open')
    return client
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** Subscribes and waits for the response. */
  async subscribe(...hardwareIds: string[]): Promise<Message> {
    this.send({ type: 'subscribe', hardwareIds })
    return this.next('subscribed')
  }

  /**
   * Returns the next message of a type, or of any that is not about carts; discards those before it. Rejects if none
   * arrives.
   */
  async next(type?: string): Promise<Message> {
    const endsAtMs = Date.now() + TIMEOUT_MS
    const messages = type !== undefined && ABOUT_CARTS.has(type) ? this.#aboutCarts : this.#messages
    for (;;) {
      const message = messages.shift()
      if (message !== undefined && (type === undefined || message.type === type)) return message
      if (message === undefined) await this.#arrival(endsAtMs - Date.now(), type)
    }
  }

  /** Returns all messages that are not about carts until the response to a ping: everything sent so far, in order. */
  async flush(): Promise<Message[]> {
    this.send({ type: 'ping', id: 'flush' })
    const messages: Message[] = []
    for (;;) {
      const message = await this.next()
      if (message.type === 'pong' && message.id === 'flush') return messages
      messages.push(message)
    }
  }

  /** Returns the code with which the gateway closes the channel. */
  async closed(): Promise<number> {
    const [code] = await once(this.socket, 'close', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return code
  }

  terminate(): void {
    this.socket.terminate()
  }

  #arrival(waitMs: number, type: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no message ${type ?? ''} in time`)), Math.max(1, waitMs))
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}
