import { Readable } from 'node:stream'
import type { Client } from 'aedes'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { AedesPersistence } from './aedes-persistence.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/** Stands for a session without subscriptions; no topic filter a client can name is granted by it. */
export const SESSION_MARK = '$session'

interface Lookup {
  sessionOf(client: Pick<Client, 'id'>): Session | undefined
  isGranted(client: Client, topicFilter: string): boolean
  /** What the broker says of itself now, on the topics that one of the filters takes in. */
  sysMessages(topicFilters: readonly string[]): { topic: string; payload: string }[]
}

/** The persistence with what the broker does better than Aedes would with it. */
export class BrokerPersistence extends AedesPersistence {
  readonly #sessions: Sessions
  readonly #lookup: Lookup
  /** Wills that were published and that Aedes will ask to delete, by client id. */
  readonly #spent = new Map<string, number>()

  constructor(sessions: Sessions, lookup: Lookup) {
    super(sessions, lookup.sessionOf)
    this.#sessions = sessions
    this.#lookup = lookup
  }

  /**
   * Aedes tells a client that its session is present if it has subscriptions; a session is one without them too
   * [MQTT-3.2.2-2].
   */
  override async subscriptionsByClient(client: Client): ReturnType<AedesPersistence['subscriptionsByClient']> {
    const subscriptions = await super.subscriptionsByClient(client)
    const isBare = subscriptions.length === 0 && this.#sessions.get(client.id) !== undefined
    return isBare ? [{ topic: SESSION_MARK, qos: 0 }] : subscriptions
  }

  /** Aedes comes once for each topic of a SUBSCRIBE, each time with all of them, denied ones included. */
  override addSubscriptions(
    client: Client,
    subscriptions: Parameters<AedesPersistence['addSubscriptions']>[1],
  ): Promise<void> {
    const known = this.#lookup.sessionOf(client)?.subscriptions
    // a topic filter may come twice: the last counts
    const last = new Map(subscriptions.map((each) => [each.topic, each]))
    const fresh = [...last.values()].filter(
      ({ topic, qos }) => this.#lookup.isGranted(client, topic) && known?.get(topic)?.qos !== qos,
    )
    return super.addSubscriptions(client, fresh)
  }

  /**
   * Filter by filter: several in one SUBSCRIBE are as several SUBSCRIBE [MQTT-3.8.4-4]. What the broker says of itself
   * comes like what is retained.
   */
  override createRetainedStreamCombi(topicFilters: string[]): Readable {
    return Readable.from(this.#retainedFor(topicFilters))
  }

  /** The outbox replays what is queued, in one order with what is new and within the client's window. */
  override outgoingStream(): Readable {
    return Readable.from([])
  }

  /** A client that has gone meanwhile: Aedes has published its will already. */
  override async putWill(client: Client, packet: Parameters<AedesPersistence['putWill']>[1]): Promise<void> {
    if (!client.closed) await super.putWill(client, packet)
  }

  /** Aedes is about to publish a will: it goes in the transaction that stores it. */
  spendWill(clientId: string): SessionChange[] {
    this.#spent.set(clientId, (this.#spent.get(clientId) ?? 0) + 1)
    return this.takeWill(clientId)
  }

  /** A will is published without Aedes, which will not ask to delete it. */
  takeWill(clientId: string): SessionChange[] {
    this.#sessions.wills.delete(clientId)
    return [{ kind: 'unwilled', clientId }]
  }

  /** After a published will Aedes deletes whatever will the client has by then, even that of its next connection. */
  override async delWill(client: Pick<Client, 'id'>): Promise<object | undefined> {
    const spent = this.#spent.get(client.id) ?? 0
    const isAfterwards = !('conn' in client) && spent > 0
    if (!isAfterwards) return super.delWill(client)
    if (spent > 1) this.#spent.set(client.id, spent - 1)
    else this.#spent.delete(client.id)
    return undefined
  }

  async *#retainedFor(topicFilters: string[]): AsyncGenerator<object> {
    for (const topicFilter of topicFilters) yield* this.createRetainedStream(topicFilter)
    for (const { topic, payload } of this.#lookup.sysMessages(topicFilters))
      yield { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, retain: true }
  }
}
