import { setTimeout as sleep } from 'node:timers/promises'
import { SessionClient } from '#scripts/rig/session-client.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { checkDeliveries, checkRetained, type DeliveryCheck, type TopicJournal } from './check.ts'
import { type Login, SessionPublisher, TOPIC_ROOT } from './publisher.ts'
import { SessionSubscriber } from './subscriber.ts'
import { SessionWills } from './wills.ts'

const PUBLISHERS = 6
const MESSAGES_PER_S = 200
const READY_LIMIT_MS = 30_000
const RETAINED_LIMIT_MS = 5_000
const DRAIN_LIMIT_MS = 60_000
/** Silence after which no further message is expected. */
const QUIET_MS = 1_500

export interface TrafficCheck {
  deliveries: DeliveryCheck
  neverAcknowledged: number
  lostSessions: number
  /** Deliveries to sessions that had acknowledged everything. */
  leftInQueues: number
  wills: { owed: number; missing: string[] }
  retainedChecks: number
  retainedFaults: string[]
}

/** Traffic other than devices', even without a gateway: publishers, persistent sessions, retained messages, wills. */
export class SessionTraffic {
  readonly #login: Login
  readonly #publishers: SessionPublisher[]
  readonly #subscribers: SessionSubscriber[]
  readonly #wills: SessionWills
  readonly #refused = Promise.withResolvers<never>()
  readonly #retainedFaults: string[] = []
  #retainedChecks = 0
  #timer: NodeJS.Timeout | undefined

  constructor(login: Login) {
    this.#login = login
    const onRefused = (error: Error) => this.#refused.reject(error)
    // the promise rejects for a caller that waits for the clients; there may be none
    this.#refused.promise.catch(() => undefined)
    const numbers = Array.from({ length: PUBLISHERS }, (_, i) => i)
    this.#publishers = numbers.map((number) => new SessionPublisher(login, number, onRefused))
    const subscriptions: Record<string, 0 | 1 | 2>[] = [
      { [`${TOPIC_ROOT}/#`]: 2 },
      { [`${TOPIC_ROOT}/#`]: 2 },
      { [`${TOPIC_ROOT}/+/once`]: 1 },
      { [`${TOPIC_ROOT}/+/exactly`]: 2 },
      { [`${TOPIC_ROOT}/+/exactly`]: 1 },
      Object.fromEntries(numbers.slice(0, 3).map((n) => [`${TOPIC_ROOT}/${n}/state-exactly`, 2])),
    ]
    this.#subscribers = subscriptions.map(
      (wanted, i) => new SessionSubscriber(login, `${TOPIC_ROOT}-subscriber-${i}`, wanted, onRefused),
    )
    this.#wills = new SessionWills(login, onRefused)
  }

  /** Creates the sessions, then starts to publish. Rejects if the gateway refuses the clients. */
  async start(): Promise<void> {
    for (const client of this.#clients) client.goOnline()
    await this.connected()
    for (const subscriber of this.#subscribers) subscriber.startWandering()
    let turn = 0
    this.#timer = setInterval(
      () => this.#publishers[turn++ % this.#publishers.length]?.publishNext(),
      1000 / MESSAGES_PER_S,
    )
  }

  /** Checks the retained messages, and connects a client with a will; call it after a start of the gateway. */
  async gatewayStarted(): Promise<void> {
    await this.#checkRetained()
    await this.#wills.connectOne()
  }

  gatewayDied(): void {
    this.#wills.gatewayDied()
  }

  /** Resolves when all clients that stay online are connected. */
  async connected(): Promise<void> {
    const ready = waitUntil(() => this.#clients.every((client) => client.isReady), READY_LIMIT_MS)
    if (!(await Promise.race([ready, this.#refused.promise]))) throw new Error('the clients cannot connect')
  }

  /** Ends the traffic, waits for messages in flight, and compares. */
  async finish(): Promise<TrafficCheck> {
    clearInterval(this.#timer)
    for (const subscriber of this.#subscribers) subscriber.stay()
    await this.connected()
    await waitUntil(() => this.#neverAcknowledged === 0, DRAIN_LIMIT_MS)
    await waitUntil(() => this.#checkDeliveries().missing + this.#wills.missing.length === 0, DRAIN_LIMIT_MS)
    const leftInQueues = await this.#readAgain()
    await this.#checkRetained()
    const check: TrafficCheck = {
      deliveries: this.#checkDeliveries(),
      neverAcknowledged: this.#neverAcknowledged,
      lostSessions: this.#clients.reduce((sum, client) => sum + client.lostSessions, 0),
      leftInQueues,
      wills: { owed: this.#wills.owed, missing: this.#wills.missing },
      retainedChecks: this.#retainedChecks,
      retainedFaults: this.#retainedFaults,
    }
    for (const client of this.#clients) client.goOffline('politely')
    return check
  }

  get #clients(): SessionClient[] {
    return [...this.#publishers, ...this.#subscribers].map(({ client }) => client).concat(this.#wills.heir)
  }

  get #topics(): Map<string, TopicJournal> {
    return new Map(this.#publishers.flatMap((publisher) => publisher.journals))
  }

  get #neverAcknowledged(): number {
    return this.#publishers.reduce((sum, { client }) => sum + client.unacknowledged, 0)
  }

  #checkDeliveries(): DeliveryCheck {
    return checkDeliveries(this.#topics, this.#subscribers)
  }

  /** Resumes the sessions, in which everything was acknowledged; returns the number of deliveries, which must be 0. */
  async #readAgain(): Promise<number> {
    await this.#quiet()
    const before = this.#deliveries
    for (const { client } of this.#subscribers) client.goOffline('abruptly')
    await waitUntil(() => this.#subscribers.every(({ client }) => !client.isReady), READY_LIMIT_MS)
    for (const { client } of this.#subscribers) client.goOnline()
    await this.connected()
    await this.#quiet()
    return this.#deliveries - before
  }

  async #quiet(): Promise<void> {
    for (let before = -1; before !== this.#deliveries; ) {
      before = this.#deliveries
      await sleep(QUIET_MS)
    }
  }

  get #deliveries(): number {
    return this.#subscribers.reduce((sum, { deliveries }) => sum + deliveries, 0)
  }

  /** Subscribes to the retained messages as a client without a session does. */
  async #checkRetained(): Promise<void> {
    const retainedTopics = (pick: (journal: TopicJournal) => number) => {
      const topics = [...this.#topics].filter(([, { isRetained }]) => isRetained)
      return new Map(topics.map(([topic, journal]) => [topic, pick(journal)] as const))
    }
    const acknowledged = retainedTopics((journal) => Math.max(0, ...journal.acknowledged))
    for (const [topic, newest] of acknowledged) if (newest === 0) acknowledged.delete(topic)
    const retained = new Map<string, number>()
    const client = new SessionClient({
      ...this.#login,
      clientId: `${TOPIC_ROOT}-asker-${this.#retainedChecks++}`,
      isPersistent: false,
      subscriptions: { [`${TOPIC_ROOT}/+/state-once`]: 1, [`${TOPIC_ROOT}/+/state-exactly`]: 2 },
    })
    // the first of a topic is the retained one: it is sent before anything that is published later
    client.onDelivery = ({ topic, payload }) => {
      if (!retained.has(topic)) retained.set(topic, Number(payload))
    }
    client.goOnline()
    await waitUntil(() => [...acknowledged.keys()].every((topic) => retained.has(topic)), RETAINED_LIMIT_MS)
    client.goOffline('politely')
    const made = retainedTopics(({ newest }) => newest)
    this.#retainedFaults.push(...checkRetained(acknowledged, made, retained))
  }
}
