import type { Outgoing } from '#scripts/rig/outgoing.ts'
import { type Delivery, SessionClient, type SessionSettings } from '#scripts/rig/session-client.ts'
import { Program } from '../world/program.ts'
import type { LiveCart } from './cart.ts'
import { CODE } from './rights.ts'

export type Qos = 0 | 1 | 2
export type Login = Pick<SessionSettings, 'port' | 'username' | 'password'>

const KEPT_MS = 2 * 86_400_000
const LONGEST_RETRY_MS = 5_000
/** Repeats of a message from which its copies fill the queues of those who are away, and push out the first. */
const FILLING_REPEATS = 10

export interface Message {
  readonly n: number
  /** Its place among all messages of its publisher. */
  readonly order: number
  readonly madeAtMs: number
  acknowledgedAtMs: number | null
  /** Connections that its publisher lost before the acknowledgement, after each of which it sends it again. */
  repeats: number
}

/** Topic of one publisher, with its numbered messages of the last days. */
export class Topic {
  readonly name: string
  readonly qos: 1 | 2
  readonly isRetained: boolean
  newest = 0
  readonly messages = new Map<number, Message>()

  constructor(name: string, qos: 1 | 2, isRetained = false) {
    this.name = name
    this.qos = qos
    this.isRetained = isRetained
  }

  /** Content of a message; every fifth of a retained topic is empty and removes the retained one. */
  payloadOf(n: number): string {
    return this.isRetained && n % 5 === 0 ? '' : `${n}:${'x'.repeat((n * 7919) % 300)}`
  }
}

/** Client of a program, with the times of its connection. */
export class ProgramClient {
  readonly name: string
  readonly program: Program
  readonly client: SessionClient
  readonly isKept: boolean
  readonly filters: Readonly<Record<string, Qos>>
  /** Time since which it is connected; null while it is not. */
  readySinceMs: number | null = null
  /** Number of its connections. */
  connections = 0
  /** Time of its first connection. */
  firstAtMs = Number.POSITIVE_INFINITY
  lostAtMs = Number.NEGATIVE_INFINITY

  constructor(login: Login, name: string, settings: Pick<SessionSettings, 'will'> & ClientOptions, now: () => number) {
    const { isKept, filters = {} } = settings
    this.name = name
    this.isKept = isKept
    this.filters = filters
    this.program = new Program(name)
    this.client = new SessionClient({
      ...login,
      clientId: name,
      isPersistent: isKept,
      subscriptions: filters,
      longestRetryMs: LONGEST_RETRY_MS,
      // a getter, because each connection has a will of its own
      get will() {
        return settings.will
      },
    })
    this.client.onReady = () => {
      this.readySinceMs = now()
      this.connections += 1
      this.firstAtMs = Math.min(this.firstAtMs, now())
      this.onReady?.()
    }
    this.client.onLost = () => this.lost(now())
  }

  onReady: (() => void) | null = null
  onLost: (() => void) | null = null

  lost(atMs: number): void {
    if (this.readySinceMs === null) return
    this.readySinceMs = null
    this.lostAtMs = atMs
    this.onLost?.()
  }

  goOffline(how: 'politely' | 'abruptly', atMs: number): void {
    this.client.goOffline(how)
    this.lost(atMs)
  }
}

interface ClientOptions {
  readonly isKept: boolean
  readonly filters?: Readonly<Record<string, Qos>>
}

/** Program that publishes numbered messages in topics of its own, and knows which were acknowledged. */
export class Publisher extends ProgramClient {
  readonly topics: readonly Topic[]
  readonly #now: () => number
  #turn = 0

  constructor(login: Login, number: number, now: () => number) {
    // a subscription gives it a session to keep, and with it the packet ids of QoS 2
    super(login, `publisher-${number}`, { isKept: true, filters: { [`answers/${number}`]: 1 } }, now)
    this.#now = now
    const state = (name: string, qos: 1 | 2) => new Topic(`state/${number}/${name}`, qos, true)
    this.topics = [
      new Topic(`shop/${number}/once`, 1),
      new Topic(`shop/${number}/exactly`, 2),
      state('once', 1),
      state('exactly', 2),
    ]
    this.client.onAcknowledged = (message) => this.#acknowledged(message)
    this.onLost = () => {
      for (const message of this.topics.flatMap(({ messages }) => [...messages.values()]))
        if (message.acknowledgedAtMs === null) message.repeats += 1
    }
  }

  /** Publishes in all topics alternately; in a retained topic one message at a time, as a second would race with it. */
  publish(count: number): void {
    for (let i = 0; i < count; i++) {
      const topic = this.topics[this.#turn++ % this.topics.length] as Topic
      const last = topic.messages.get(topic.newest)
      if (topic.isRetained && last?.acknowledgedAtMs === null) continue
      topic.newest += 1
      const { name, qos, isRetained: retain, newest: n } = topic
      topic.messages.set(n, { n, order: this.#turn, madeAtMs: this.#now(), acknowledgedAtMs: null, repeats: 0 })
      this.client.publish({ topic: name, payload: topic.payloadOf(n), qos, retain })
    }
  }

  /** Forgets messages that no client can receive again. */
  forgetOld(): void {
    for (const { messages, newest } of this.topics)
      for (const { n, madeAtMs } of messages.values())
        if (n < newest && madeAtMs < this.#now() - KEPT_MS) messages.delete(n)
  }

  #acknowledged({ topic, payload }: Outgoing): void {
    const known = this.topics.find(({ name }) => name === topic)
    if (known === undefined) return
    const n = payload === '' ? known.newest : Number(payload.split(':')[0])
    const message = known.messages.get(n)
    if (message !== undefined) message.acknowledgedAtMs ??= this.#now()
  }
}

/** Program that subscribes; it notes its messages, and judges each as it comes. */
export class Subscriber extends ProgramClient {
  /** Messages that came and should not have. */
  readonly faults: string[] = []
  readonly #topics: ReadonlyMap<string, Topic>
  /** Number of the connection on which a message first came, by topic and number. */
  readonly #seen = new Map<string, Map<number, number>>()
  readonly #highest = new Map<string, number>()

  constructor(
    login: Login,
    name: string,
    { topics, ...options }: ClientOptions & { topics: ReadonlyMap<string, Topic> },
    now: () => number,
  ) {
    super(login, name, options, now)
    this.#topics = topics
    this.client.onDelivery = (delivery) => this.#take(delivery)
  }

  /** Its QoS for a topic; undefined if it has not subscribed to it. */
  qosOf({ name }: Topic): Qos | undefined {
    const granted = Object.entries(this.filters).filter(([filter]) => isMatch(filter, name))
    return granted.length === 0 ? undefined : (Math.max(...granted.map(([, qos]) => qos)) as Qos)
  }

  has({ name }: Topic, n: number): boolean {
    return this.#seen.get(name)?.has(n) ?? false
  }

  /** Notes that a message was dropped from its full queue, so that it must not come any more. */
  drop({ name }: Topic, n: number): void {
    this.#seen.set(name, (this.#seen.get(name) ?? new Map<number, number>()).set(n, 0))
  }

  forgetOld(): void {
    for (const { name, messages } of this.#topics.values())
      for (const n of this.#seen.get(name)?.keys() ?? []) if (!messages.has(n)) this.#seen.get(name)?.delete(n)
  }

  #take({ topic: name, payload, qos }: Delivery): void {
    const topic = this.#topics.get(name)
    const n = Number(payload.split(':')[0])
    const wanted = topic === undefined ? undefined : this.qosOf(topic)
    const message = topic?.messages.get(n)
    if (topic === undefined || wanted === undefined || message === undefined || payload !== topic.payloadOf(n)) {
      this.faults.push(`${name} ${payload.slice(0, 20)}: not sent to it`)
      return
    }
    if (qos !== Math.min(wanted, topic.qos)) this.faults.push(`${name} ${n}: QoS ${qos}`)
    const seen = this.#seen.get(name) ?? new Map<number, number>()
    this.#seen.set(name, seen)
    const first = seen.get(n)
    const highest = this.#highest.get(name) ?? 0
    if (first === undefined) {
      seen.set(n, this.connections)
      if (n < highest && message.repeats < FILLING_REPEATS) this.faults.push(`${name} ${n}: after ${highest}`)
      this.#highest.set(name, Math.max(n, highest))
      return
    }
    // either side of QoS 1 repeats it after a connection was lost, and only then
    const isRepeated = topic.qos === 1 && message.repeats > 0
    const isResent = qos === 1 && first > 0 && first !== this.connections
    if (!isRepeated && !isResent) this.faults.push(`${name} ${n}: twice, QoS ${topic.qos} to ${qos}`)
  }
}

/** Display of a user who sees some carts and no codes, which subscribes to all devices. */
export class Board extends ProgramClient {
  /** Messages that it must not see. */
  readonly faults: string[] = []
  /** Newest position that it received, by cart. */
  readonly newestMs = new Map<string, number>()
  readonly carts: readonly LiveCart[]

  constructor(login: Login, carts: readonly LiveCart[], now: () => number) {
    super(login, 'board', { isKept: false, filters: { 'dev/#': 1 } }, now)
    this.carts = carts
    this.client.onDelivery = ({ topic, payload }) => {
      const [, hardwareId = '', level] = topic.split('/')
      if (carts.every((cart) => cart.hardwareId !== hardwareId))
        this.faults.push(`${topic} of a device not in its scope`)
      if (CODE.test(payload)) this.faults.push(`${topic} with a code`)
      if (level !== 'tlm') return
      for (const { ts } of [JSON.parse(payload)].flat())
        this.newestMs.set(hardwareId, Math.max(ts, this.newestMs.get(hardwareId) ?? 0))
    }
  }
}

function isMatch(filter: string, topic: string): boolean {
  const [levels, wanted] = [topic.split('/'), filter.split('/')]
  for (const [i, level] of wanted.entries()) {
    if (level === '#') return true
    if (levels[i] === undefined || (level !== '+' && level !== levels[i])) return false
  }
  return wanted.length === levels.length
}
