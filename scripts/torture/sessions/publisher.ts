import type { Outgoing } from '#scripts/rig/outgoing.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'
import type { TopicJournal } from './check.ts'

/** Login of all clients of the scenario. */
export interface Login {
  port: number
  username: string
  password: string
}

export const TOPIC_ROOT = 'torture'

interface Topic extends TopicJournal {
  name: string
  acknowledged: Set<number>
  inFlight: number
}

/** Unacknowledged messages of a topic; a retained one has only one, as the next would race with its repetition. */
const MAX_IN_FLIGHT = 8
const MAX_RETAINED_IN_FLIGHT = 1

/** Publishes numbered messages to topics of its own and records which were acknowledged. */
export class SessionPublisher {
  readonly client: SessionClient
  readonly #topics: Topic[]
  #turn = 0

  constructor(login: Login, number: number, onRefused: (error: Error) => void) {
    const clientId = `${TOPIC_ROOT}-publisher-${number}`
    const prefix = `${TOPIC_ROOT}/${number}`
    this.#topics = [
      createTopic(`${prefix}/once`, 1, false),
      createTopic(`${prefix}/exactly`, 2, false),
      createTopic(`${prefix}/state-once`, 1, true),
      createTopic(`${prefix}/state-exactly`, 2, true),
    ]
    // a subscription gives it a session to keep, and with it the packet ids of QoS 2
    const subscriptions = { [`${TOPIC_ROOT}-answers/${number}`]: 1 as const }
    this.client = new SessionClient({ ...login, clientId, isPersistent: true, subscriptions })
    this.client.onRefused = onRefused
    this.client.onAcknowledged = (message) => this.#note(message)
  }

  /** Makes the next message, rotating through the topics. */
  publishNext(): void {
    const topic = this.#topics[this.#turn++ % this.#topics.length]
    if (topic === undefined) return
    if (topic.inFlight >= (topic.isRetained ? MAX_RETAINED_IN_FLIGHT : MAX_IN_FLIGHT)) return
    topic.inFlight++
    topic.newest++
    const { name, publishQos: qos, isRetained: retain } = topic
    this.client.publish({ topic: name, payload: String(topic.newest), qos, retain })
  }

  get journals(): [topic: string, TopicJournal][] {
    return this.#topics.map((topic) => [topic.name, topic])
  }

  #note({ topic, payload }: Outgoing): void {
    const known = this.#topics.find(({ name }) => name === topic)
    if (known === undefined) return
    known.inFlight--
    known.acknowledged.add(Number(payload))
  }
}

function createTopic(name: string, publishQos: 1 | 2, isRetained: boolean): Topic {
  return { name, publishQos, isRetained, newest: 0, acknowledged: new Set(), inFlight: 0 }
}
