import { once } from 'node:events'
import { WebSocket } from 'ws'

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
type Message = any

/** For what never comes. */
const TIMEOUT_MS = 45_000
/** What comes of nearly everything, some moments later: kept apart, for those who ask for it. */
const ABOUT_CARTS: ReadonlySet<string> = new Set(['cart', 'cart_removed'])

/** A client of `/realtime` that keeps what it gets until somebody asks for it. */
export class RealtimeClient {
  readonly socket: WebSocket
  /** All that came, in its order. */
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

  /** Resolves when the channel is open; rejects with the status in the message when the upgrade is refused. */
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

  /** Subscribes and waits for the answer. */
  async subscribe(...hardwareIds: string[]): Promise<Message> {
    this.send({ type: 'subscribe', hardwareIds })
    return this.next('subscribed')
  }

  /**
   * The next message of a type, or of any that is not about carts; those before it are forgotten. Rejects when none
   * comes.
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

  /** All messages that are not about carts, until the answer to a ping: what has been sent so far, in order. */
  async flush(): Promise<Message[]> {
    this.send({ type: 'ping', id: 'flush' })
    const messages: Message[] = []
    for (;;) {
      const message = await this.next()
      if (message.type === 'pong' && message.id === 'flush') return messages
      messages.push(message)
    }
  }

  /** The code the gateway closes the channel with. */
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
