import { Readable } from 'node:stream'
import type { Client } from 'aedes'
import type { SessionChange, StoredWill } from '#domain/mqtt-sessions.ts'
import { AedesPersistence } from './aedes-persistence.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/** Stands for a session without subscriptions; grants no topic filter that a client can use. */
export const SESSION_MARK = '$session'

interface Lookup {
  sessionOf(client: Pick<Client, 'id'>): Session | undefined
  isGranted(client: Client, topicFilter: string): boolean
  /** Returns the current status messages on topics that match one of the filters. */
  sysMessages(topicFilters: readonly string[]): { topic: string; payload: string }[]
}

/** Persistence with overrides where the broker does better than Aedes would. */
export class BrokerPersistence extends AedesPersistence {
  readonly #sessions: Sessions
  readonly #lookup: Lookup
  /** Number of published wills that Aedes will request to delete, keyed by client id. */
  readonly #spent = new Map<string, number>()
  /** Connections that stored the wills. */
  readonly #owners = new WeakMap<StoredWill, object>()

  constructor(sessions: Sessions, lookup: Lookup) {
    super(sessions, lookup.sessionOf)
    this.#sessions = sessions
    this.#lookup = lookup
  }

  /** Adds a mark: Aedes reports a session without subscriptions as not present, although it is [MQTT-3.2.2-2]. */
  override async subscriptionsByClient(client: Client): ReturnType<AedesPersistence['subscriptionsByClient']> {
    const subscriptions = await super.subscriptionsByClient(client)
    const isBare = subscriptions.length === 0 && this.#sessions.get(client.id) !== undefined
    return isBare ? [{ topic: SESSION_MARK, qos: 0 }] : subscriptions
  }

  /** Aedes calls this once for each topic filter of a SUBSCRIBE, each time with all of them, including denied ones. */
  override addSubscriptions(
    client: Client,
    subscriptions: Parameters<AedesPersistence['addSubscriptions']>[1],
  ): Promise<void> {
    const known = this.#lookup.sessionOf(client)?.subscriptions
    // a topic filter may occur twice: the last counts
    const last = new Map(subscriptions.map((each) => [each.topic, each]))
    const fresh = [...last.values()].filter(
      ({ topic, qos }) => this.#lookup.isGranted(client, topic) && known?.get(topic)?.qos !== qos,
    )
    return super.addSubscriptions(client, fresh)
  }

  /** Streams filter by filter, as if each had its own SUBSCRIBE [MQTT-3.8.4-4]. Includes status messages. */
  override createRetainedStreamCombi(topicFilters: string[]): Readable {
    return Readable.from(this.#retainedFor(topicFilters))
  }

  /** Empty: the outbox sends queued messages, in one order with new ones and within the client's window. */
  override outgoingStream(): Readable {
    return Readable.from([])
  }

  /** Ignores a client that has disconnected in the meantime: Aedes has published its will already. */
  override async putWill(client: Client, packet: Parameters<AedesPersistence['putWill']>[1]): Promise<void> {
    if (client.closed) return
    const stored = super.putWill(client, packet)
    const will = this.#sessions.wills.get(client.id)
    if (will !== undefined) this.#owners.set(will, client)
    await stored
  }

  /**
   * Removes a will that Aedes is about to publish; the changes belong to the transaction that stores it. The next
   * connection of the client may have stored its own already, which stays: a slow disk delays the end of the first.
   */
  spendWill(client: Client): SessionChange[] {
    this.#spent.set(client.id, (this.#spent.get(client.id) ?? 0) + 1)
    const will = this.#sessions.wills.get(client.id)
    const isOfNext = will !== undefined && this.#owners.get(will) !== client
    return isOfNext ? [] : this.takeWill(client.id)
  }

  /** Removes a will that is published without Aedes, which will not request to delete it. */
  takeWill(clientId: string): SessionChange[] {
    this.#sessions.wills.delete(clientId)
    return [{ kind: 'unwilled', clientId }]
  }

  /** Ignores published wills: Aedes would delete the current will of the client, even that of its next connection. */
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
