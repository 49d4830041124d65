import { type Delivery, SessionClient } from '#scripts/rig/session-client.ts'
import type { SubscriberJournal } from './check.ts'
import type { Login } from './publisher.ts'

/** Shortest time that a subscriber stays online or offline. */
const STAY_MIN_MS = 100
const STAY_SPREAD_MS = 2000

/** Client with a persistent session that is online at times, and records its deliveries. */
export class SessionSubscriber implements SubscriberJournal {
  readonly client: SessionClient
  readonly name: string
  readonly subscriptions: Readonly<Record<string, 0 | 1 | 2>>
  readonly received = new Map<string, number[]>()
  #timer: NodeJS.Timeout | undefined
  #isOnline = true

  constructor(
    login: Login,
    name: string,
    subscriptions: Readonly<Record<string, 0 | 1 | 2>>,
    onRefused: (error: Error) => void,
  ) {
    this.name = name
    this.subscriptions = subscriptions
    this.client = new SessionClient({ ...login, clientId: name, isPersistent: true, subscriptions })
    this.client.onRefused = onRefused
    this.client.onDelivery = (delivery) => this.#note(delivery)
  }

  get deliveries(): number {
    return [...this.received.values()].reduce((sum, { length }) => sum + length, 0)
  }

  /** Starts to connect and disconnect. */
  startWandering(): void {
    this.#timer = setTimeout(
      () => {
        this.#isOnline = !this.#isOnline
        if (this.#isOnline) this.client.goOnline()
        else this.client.goOffline(Math.random() < 0.5 ? 'politely' : 'abruptly')
        this.startWandering()
      },
      STAY_MIN_MS + Math.random() * STAY_SPREAD_MS,
    )
  }

  /** Stays online from now on. */
  stay(): void {
    clearTimeout(this.#timer)
    this.#isOnline = true
    this.client.goOnline()
  }

  #note({ topic, payload }: Delivery): void {
    const numbers = this.received.get(topic) ?? []
    this.received.set(topic, numbers)
    numbers.push(Number(payload))
  }
}
