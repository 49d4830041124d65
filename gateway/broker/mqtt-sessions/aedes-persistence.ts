import { Readable } from 'node:stream'
import type { Client, Subscription } from 'aedes'
import type { StoredMessage, StoredSubscription } from '#domain/mqtt-sessions.ts'
import { hasWildcard, matchesTopic } from '#domain/mqtt-topics.ts'
import type { OutboxEntry } from './outbox.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

type ClientId = Pick<Client, 'id'>

/** Packet as Aedes passes it to its persistence: these fields are read, the others are only stored. */
interface KeptPacket {
  cmd?: string | undefined
  topic: string
  payload: Buffer | string
  qos: number
  retain: boolean
  dup?: boolean | undefined
  messageId?: number | undefined
  brokerId?: string | undefined
  brokerCounter?: number | undefined
}

interface KeptWill extends KeptPacket {
  brokerId: string
  clientId: string
}

type KeptSubscription = Subscription & Record<string, unknown>

/**
 * Persistence that Aedes requires, on top of `Sessions`. Passes the public test suite of aedes-persistence 11, before
 * and after a restart, which verifies other versions. Source: its `asyncPersistence.js` and `abstract.js`.
 */
export class AedesPersistence {
  readonly #sessions: Sessions
  readonly #sessionOf: (client: ClientId) => Session | undefined
  #broker: { id: string } = { id: '' }
  #isDestroyed = false

  /** `sessionOf` returns the session of a connection, also one that is not persistent. */
  constructor(sessions: Sessions, sessionOf: (client: ClientId) => Session | undefined) {
    this.#sessions = sessions
    this.#sessionOf = sessionOf
  }

  // Aedes checks the name of this function's constructor, so it must be async
  async setup(broker: { id: string }): Promise<void> {
    this.#broker = broker
  }

  get broker(): { id: string } {
    return this.#broker
  }

  async storeRetained(packet: KeptPacket): Promise<void> {
    const routed = this.#sessions.route({ ...messageOf(packet), isRetained: true }, new Map())
    await this.#sessions.write(...routed.changes)
    routed.commit()
  }

  createRetainedStreamCombi(topicFilters: string[]): Readable {
    return Readable.from(this.#retained(topicFilters))
  }

  createRetainedStream(topicFilter: string): Readable {
    return Readable.from(this.#retained([topicFilter]))
  }

  async addSubscriptions(client: ClientId, subscriptions: KeptSubscription[]): Promise<void> {
    const known = subscriptions.map(({ topic, qos, ...rest }): StoredSubscription => {
      const extra = JSON.stringify(rest)
      return { clientId: client.id, topicFilter: topic, qos, extra: extra === '{}' ? null : extra }
    })
    await this.#sessions.subscribe(this.#open(client), known)
  }

  async removeSubscriptions(client: ClientId, topicFilters: string[]): Promise<void> {
    const session = this.#sessionOf(client)
    if (session !== undefined) await this.#sessions.unsubscribe(session, topicFilters)
  }

  async subscriptionsByClient(client: ClientId): Promise<Record<string, unknown>[]> {
    const subscriptions = this.#sessions.get(client.id)?.subscriptions.values() ?? []
    return Array.from(subscriptions, ({ topicFilter, qos, extra }) => ({
      topic: topicFilter,
      qos,
      ...fieldsOf(extra),
    }))
  }

  async countOffline(): Promise<{ subsCount: number; clientsCount: number }> {
    const subscribed = [...this.#sessions.all()].filter((session) => session.subscriptions.size > 0)
    return { subsCount: this.#queuedSubscriptions().length, clientsCount: subscribed.length }
  }

  async subscriptionsByTopic(topic: string): Promise<Record<string, unknown>[]> {
    return (
      this.#queuedSubscriptions()
        .filter(({ topicFilter }) => matchesTopic(topicFilter, topic))
        // same order as the persistence that comes with Aedes
        .sort((a, b) => Number(hasWildcard(b.topicFilter)) - Number(hasWildcard(a.topicFilter)))
        .map(({ clientId, topicFilter, qos, extra }) => ({
          clientId,
          topic: topicFilter,
          qos,
          ...fieldsOf(extra),
        }))
    )
  }

  /** Deletes the whole session: its queue is never sent to a client that requests a clean session [MQTT-3.1.2-6]. */
  async cleanSubscriptions(client: ClientId): Promise<void> {
    await this.#sessions.discard(client.id)
  }

  async outgoingEnqueue(subscription: { clientId: string }, packet: KeptPacket): Promise<void> {
    await this.#sessions.queueFor(this.#open({ id: subscription.clientId }), messageOf(pickKept(packet)))
  }

  async outgoingEnqueueCombi(subscriptions: { clientId: string }[], packet: KeptPacket): Promise<void> {
    // overlapping subscriptions contain a client more than once
    for (const clientId of new Set(subscriptions.map((each) => each.clientId)))
      await this.outgoingEnqueue({ clientId }, packet)
  }

  /** Replaces PUBLISH with PUBREL, or sets the packet identifier that a packet is sent with. */
  async outgoingUpdate(client: ClientId, packet: KeptPacket): Promise<void> {
    const session = this.#sessionOf(client)
    if (session === undefined || packet.messageId === undefined) return
    if (packet.cmd === 'pubrel') {
      const entry = entryOf(session, packet.messageId)
      if (entry !== undefined) await this.#sessions.release(session, entry.packetId)
      return
    }
    for (const entry of session.outbox.entries()) {
      const { brokerId, brokerCounter } = fieldsOf(entry.message.extra)
      if (brokerId !== packet.brokerId || brokerCounter !== packet.brokerCounter) continue
      await this.#sessions.amend(session, entry, messageOf({ ...pickKept(packet), messageId: packet.messageId }))
      return
    }
  }

  async outgoingClearMessageId(
    client: ClientId,
    packet: { cmd?: string; messageId?: number | undefined },
  ): Promise<object | undefined> {
    const session = this.#sessionOf(client)
    if (session === undefined || packet.messageId === undefined) return undefined
    const known = entryOf(session, packet.messageId)
    if (known === undefined) return undefined
    const entry = this.#sessions.acknowledge(session, known.packetId, packet.cmd === 'pubcomp')
    return entry && packetOf(entry)
  }

  outgoingStream(client: ClientId): Readable {
    return Readable.from(Array.from(this.#sessionOf(client)?.outbox.entries() ?? [], packetOf))
  }

  async incomingStorePacket(client: ClientId, packet: KeptPacket): Promise<void> {
    const kept = { ...pickKept(packet), messageId: packet.messageId }
    await this.#sessions.receive(this.#open(client), packet.messageId ?? 0, JSON.stringify(kept))
  }

  async incomingGetPacket(client: ClientId, { messageId = 0 }: { messageId?: number }): Promise<object> {
    const extra = this.#sessionOf(client)?.received.get(messageId)
    if (extra === undefined) throw new Error('no such packet')
    const { payload, ...rest } = fieldsOf(extra)
    return { ...rest, payload: Buffer.from(payload ?? []) }
  }

  async incomingDelPacket(client: ClientId, { messageId = 0 }: { messageId?: number }): Promise<void> {
    const session = this.#sessionOf(client)
    if (!session?.received.has(messageId)) throw new Error('no such packet')
    await this.#sessions.complete(session, messageId)
  }

  async cleanIncoming(client: ClientId): Promise<void> {
    const session = this.#sessionOf(client)
    if (session !== undefined) await this.#sessions.completeAll(session)
  }

  async putWill(client: ClientId, packet: KeptWill): Promise<void> {
    packet.brokerId = this.#broker.id
    packet.clientId = client.id
    const owner = this.#sessionOf(client)?.owner ?? ''
    await this.#sessions.putWill({ clientId: client.id, owner, message: messageOf(packet) })
  }

  async getWill(client: ClientId): Promise<object | undefined> {
    const will = this.#sessions.wills.get(client.id)
    return will && willOf(will.message)
  }

  async delWill(client: ClientId): Promise<object | undefined> {
    const will = await this.getWill(client)
    await this.#sessions.deleteWill(client.id)
    return will
  }

  streamWill(brokers: Record<string, number> = {}): Readable {
    const wills = Array.from(this.#sessions.wills.values(), ({ message }) => willOf(message))
    return Readable.from(wills.filter(({ brokerId }) => brokers[String(brokerId)] === undefined))
  }

  getClientList(topicFilter: string): Readable {
    const subscribed = [...this.#sessions.all()].filter((session) => session.subscriptions.has(topicFilter))
    return Readable.from(subscribed.map(({ clientId }) => clientId))
  }

  async destroy(): Promise<void> {
    if (this.#isDestroyed) throw new Error('destroyed already')
    this.#isDestroyed = true
  }

  /** Returns subscriptions of QoS 1 and 2; the broker itself has a faster lookup for one topic. */
  #queuedSubscriptions(): StoredSubscription[] {
    return [...this.#sessions.all()].flatMap(({ subscriptions }) =>
      [...subscriptions.values()].filter(({ qos }) => qos > 0),
    )
  }

  #open(client: ClientId): Session {
    return this.#sessionOf(client) ?? this.#sessions.enterAbsent(client.id)
  }

  *#retained(topicFilters: string[]): Generator<object> {
    for (const message of this.#sessions.retained.matching(topicFilters)) {
      const { topic, payload, qos, extra } = message
      yield { cmd: 'publish', topic, payload: payloadOf(payload), qos, retain: true, ...fieldsOf(extra) }
    }
  }
}

function pickKept(packet: KeptPacket): KeptPacket {
  const { cmd, topic, payload, qos, retain, dup, brokerId, brokerCounter } = packet
  return { cmd, topic, payload, qos, retain, dup: dup ?? false, brokerId, brokerCounter }
}

function messageOf({ topic, payload, qos, retain, ...rest }: KeptPacket): StoredMessage {
  // a copy: the payload is a view of the socket's whole chunk
  const kept = typeof payload === 'string' ? payload : new Uint8Array(payload)
  return { topic, payload: kept, qos, isRetained: retain, extra: JSON.stringify(rest) }
}

function payloadOf(payload: Uint8Array | string): Buffer | string {
  return typeof payload === 'string' ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.length)
}

// parses what this class has written; the broker writes null
function fieldsOf(extra: string | null): Record<string, never> {
  return extra === null ? {} : JSON.parse(extra)
}

function packetOf({ packetId, isReleased, message }: OutboxEntry): Record<string, unknown> {
  const { topic, payload, qos, isRetained, extra } = message
  const { messageId, ...rest } = fieldsOf(extra)
  if (isReleased) return { cmd: 'pubrel', messageId: messageId ?? packetId }
  return { ...rest, topic, payload: payloadOf(payload), qos, retain: isRetained, messageId }
}

function willOf({ topic, payload, qos, isRetained, extra }: StoredMessage): Record<string, unknown> {
  return { ...fieldsOf(extra), topic, payload: payloadOf(payload), qos, retain: isRetained }
}

/** Returns the entry for a packet identifier of a client: the stored one, unless Aedes has assigned another. */
function entryOf(session: Session, messageId: number): OutboxEntry | undefined {
  const own = session.outbox.get(messageId)
  if (own?.message.extra === null) return own
  for (const entry of session.outbox.entries()) {
    if (fieldsOf(entry.message.extra).messageId === messageId) return entry
  }
  return undefined
}
