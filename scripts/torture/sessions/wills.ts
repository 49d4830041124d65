import { SessionClient } from '#scripts/rig/session-client.ts'
import { type Login, TOPIC_ROOT } from './publisher.ts'

const WILL_TOPIC = `${TOPIC_ROOT}-wills`
const CONNECT_LIMIT_MS = 10_000

/** Clients with a last will that never return once the gateway dies, and a subscriber to the wills. */
export class SessionWills {
  readonly #login: Login
  readonly #heir: SessionClient
  readonly #arrived = new Set<string>()
  readonly #owed = new Set<string>()
  #current: { client: SessionClient; will: string } | null = null
  #made = 0

  constructor(login: Login, onRefused: (error: Error) => void) {
    this.#login = login
    const clientId = `${TOPIC_ROOT}-heir`
    const subscriptions = { [`${WILL_TOPIC}/+`]: 1 as const }
    this.#heir = new SessionClient({ ...login, clientId, isPersistent: true, subscriptions })
    this.#heir.onRefused = onRefused
    this.#heir.onDelivery = ({ payload }) => this.#arrived.add(payload)
  }

  get heir(): SessionClient {
    return this.#heir
  }

  /** Connects one more client with a will; resolves when it is connected, or the limit expires. */
  connectOne(): Promise<void> {
    const will = String(++this.#made)
    const client = new SessionClient({
      ...this.#login,
      clientId: `${TOPIC_ROOT}-mortal-${will}`,
      isPersistent: false,
      will: { topic: `${WILL_TOPIC}/${will}`, payload: will, qos: 1, retain: false },
    })
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, CONNECT_LIMIT_MS)
      client.onReady = () => {
        this.#current = { client, will }
        clearTimeout(timer)
        resolve()
      }
      client.goOnline()
    })
  }

  /** Records that the gateway died: the wills of the connected clients are due. */
  gatewayDied(): void {
    if (this.#current === null) return
    this.#owed.add(this.#current.will)
    this.#current.client.goOffline('abruptly')
    this.#current = null
  }

  get owed(): number {
    return this.#owed.size
  }

  /** Due wills that did not arrive. */
  get missing(): string[] {
    return [...this.#owed].filter((will) => !this.#arrived.has(will))
  }
}
