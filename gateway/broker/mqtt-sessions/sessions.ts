import type {
  SessionChange,
  StoredMessage,
  StoredSessions,
  StoredSubscription,
  StoredWill,
} from '#domain/mqtt-sessions.ts'
import { Counter } from '#shared/counter.ts'
import type { Component } from '#shared/lifecycle.ts'
import { HOUR_MS } from '#shared/time.ts'
import { LIMIT_DROPS } from '../limits.ts'
import { DequeuedBatch } from './dequeued-batch.ts'
import { createEntry, Outbox, type OutboxEntry, type OutboxLimits } from './outbox.ts'
import { QueueShares } from './queue-shares.ts'
import { type RetainedLimits, RetainedMessages } from './retained-messages.ts'
import { Session, type SessionConnection, type SessionSubscription } from './session.ts'
import { SubscriptionIndex } from './subscription-index.ts'

/** Where changes are written down. */
export interface SessionJournal {
  /** What was written by earlier lives of the process. */
  load(): StoredSessions
  /** Calls `onStored` when the changes are on the disk, or `onRefused` when they never will be. */
  append(changes: readonly SessionChange[], onStored: () => void, onRefused: (reason: string) => void): void
}

export interface SessionLimits {
  outbox: OutboxLimits
  /** Of all clients together. */
  queued: { messages: number; bytes: number }
  retained: RetainedLimits
  /** Days without a connection after which a session is forgotten; counted while the gateway runs. */
  expiryDays: number
}

/** A message that was matched and is to be written, and what is to be done once it is. */
export interface RoutedMessage {
  changes: SessionChange[]
  /** Makes it visible: to be called once, when the changes are on the disk. */
  commit(): void
  /** Forgets it: the changes will never be on the disk. */
  abandon(): void
}

/** For promises without a caller: the journal has reported the failure. */
const IGNORE_FAILURE = () => undefined

/**
 * All sessions, retained messages and last wills: in memory, and written down by way of the journal in the order in
 * which they change. A message is queued in the transaction that stores it, so once its sender has an acknowledgement
 * no power cut takes it from a subscriber.
 */
export class Sessions implements Component {
  readonly retained: RetainedMessages
  readonly wills = new Map<string, StoredWill>()
  /** What had to make room or was forgotten, by reason. */
  readonly dropped = new Counter(LIMIT_DROPS)
  readonly #journal: SessionJournal
  readonly #limits: SessionLimits
  readonly #byClientId = new Map<string, Session>()
  readonly #index = new SubscriptionIndex<Session>()
  /** Sessions that are kept or about to be, by owner. */
  readonly #keptBy = new Map<string, number>()
  /** What the queues of all clients hold. */
  readonly queued = new QueueShares<Outbox>()
  #seq = 0
  readonly #dequeued = new DequeuedBatch((seqs) => this.#note({ kind: 'dequeued', seqs }))
  #ageTimer: NodeJS.Timeout | undefined

  constructor(journal: SessionJournal, limits: SessionLimits) {
    this.#journal = journal
    this.#limits = limits
    this.retained = new RetainedMessages(limits.retained, (topic) => !/^(dev|sit)\//.test(topic))
  }

  /** Takes up what the journal holds. */
  async start(): Promise<void> {
    const stored = this.#journal.load()
    for (const { clientId, owner, idleHours } of stored.sessions) {
      const session = this.create(clientId, owner)
      session.idleHours = idleHours
      this.#byClientId.set(clientId, session)
    }
    for (const subscription of stored.subscriptions) {
      const session = this.#byClientId.get(subscription.clientId)
      if (session !== undefined) this.#addSubscription(session, subscription)
    }
    for (const { seq, clientId, packetId, isReleased, message } of stored.queued) {
      this.#seq = Math.max(this.#seq, seq)
      const session = this.#byClientId.get(clientId)
      if (session === undefined) continue
      const entry = createEntry(message, packetId, seq)
      entry.isReleased = isReleased
      // whether it was sent is not written down; a repeated message must say so [MQTT-3.3.1-1], another one may
      entry.wasSent = true
      const settled = session.outbox.restore(entry)
      if (settled !== undefined) this.#settle(settled)
      this.#makeRoom()
    }
    for (const { clientId, packetId, extra } of stored.received) {
      this.#byClientId.get(clientId)?.received.set(packetId, extra)
    }
    for (const message of stored.retained) this.#retain(message)
    for (const will of stored.wills) this.wills.set(will.clientId, will)
    this.#ageTimer = setInterval(() => this.ageSessions(), HOUR_MS)
    this.#ageTimer.unref()
  }

  /** Writes down what was held back; the journal itself is another's to close. */
  async stop(): Promise<void> {
    clearInterval(this.#ageTimer)
    this.#dequeued.flush()
  }

  get(clientId: string): Session | undefined {
    return this.#byClientId.get(clientId)
  }

  all(): IterableIterator<Session> {
    return this.#byClientId.values()
  }

  /** How many are kept, with and without a connection. */
  get count(): number {
    return this.#byClientId.size
  }

  /** How many are kept for an owner, or about to be. */
  keptBy(owner: string): number {
    return this.#keptBy.get(owner) ?? 0
  }

  /** A session to be kept, once it is entered; or else it is to be abandoned. */
  create(clientId: string, owner: string): Session {
    const outbox = new Outbox(this.#limits.outbox, owner, this.queued, (entry, reason) => {
      this.dropped.add(reason)
      this.#settle(entry)
    })
    const session = new Session(clientId, owner, true, outbox)
    session.isCounted = true
    this.#keptBy.set(owner, this.keptBy(owner) + 1)
    return session
  }

  /** The connection a session was created for is over: nothing happens if it was entered. */
  abandon(session: Session): void {
    if (this.#byClientId.get(session.clientId) !== session) this.#uncount(session)
  }

  /** A session that lasts as long as its connection and is never written down. */
  createTransient(clientId: string, owner: string): Session {
    const outbox = new Outbox(this.#limits.outbox, owner, this.queued, (_entry, reason) => this.dropped.add(reason))
    return new Session(clientId, owner, false, outbox)
  }

  /** A connection takes the session up. */
  enter(session: Session, connection: SessionConnection): void {
    session.connection = connection
    const { clientId, owner, isPersistent } = session
    if (!isPersistent) return
    forgetUnkept(session)
    if (!this.#byClientId.has(clientId) || session.idleHours > 0) this.#note({ kind: 'opened', clientId, owner })
    const other = this.#byClientId.get(clientId)
    if (other !== undefined && other !== session) this.#uncount(other)
    this.#byClientId.set(clientId, session)
    session.idleHours = 0
  }

  /** A session for a client that is not here. */
  enterAbsent(clientId: string): Session {
    const session = this.create(clientId, '')
    this.#note({ kind: 'opened', clientId, owner: '' })
    this.#byClientId.set(clientId, session)
    return session
  }

  /** A connection has ended; nothing happens if another one has taken its place. */
  leave(session: Session, connection: SessionConnection): void {
    session.outbox.detach(connection)
    if (session.connection !== connection) return
    session.connection = undefined
    if (session.isPersistent) forgetUnkept(session)
    else this.close(session)
  }

  /** Ends a session in memory. */
  close(session: Session): void {
    session.isGone = true
    this.#uncount(session)
    for (const subscription of session.subscriptions.values()) this.#removeSubscription(subscription)
    session.outbox.clear()
  }

  /** Forgets a session with all it holds. */
  discard(clientId: string): Promise<void> {
    const session = this.#byClientId.get(clientId)
    if (session === undefined) return Promise.resolve()
    this.close(session)
    this.#byClientId.delete(clientId)
    return this.write({ kind: 'discarded', clientId })
  }

  discardOwned(owner: string): void {
    for (const session of [...this.#byClientId.values()]) {
      if (session.owner === owner) this.discard(session.clientId).catch(IGNORE_FAILURE)
    }
  }

  subscribe(session: Session, subscriptions: readonly StoredSubscription[]): Promise<void> {
    for (const subscription of subscriptions) this.#addSubscription(session, subscription)
    if (!session.isPersistent) return Promise.resolve()
    // in turn, also with nothing to write: one topic filter of a SUBSCRIBE is gone on with after the other
    return this.#append(subscriptions.map((each) => ({ kind: 'subscribed', ...each })))
  }

  unsubscribe(session: Session, topicFilters: readonly string[]): Promise<void> {
    const known = topicFilters.filter((topicFilter) => session.subscriptions.has(topicFilter))
    for (const topicFilter of known) {
      const subscription = session.subscriptions.get(topicFilter)
      if (subscription !== undefined) this.#removeSubscription(subscription)
    }
    const { clientId, isPersistent } = session
    if (!isPersistent) return Promise.resolve()
    return this.write(...known.map((topicFilter) => ({ kind: 'unsubscribed' as const, clientId, topicFilter })))
  }

  /** Subscriptions of all clients, connected or not. */
  get allSubscriptionCount(): number {
    return this.#index.size
  }

  /** Another one after every change of subscriptions. */
  get subscriptionVersion(): number {
    return this.#index.version
  }

  /** Subscriptions of all clients of an owner, connected or not. */
  subscriptionsOf(owner: string): number {
    return this.#index.sizeOf(owner)
  }

  /** Whose subscriptions take in a topic that their owner may read, each with the highest QoS of these. */
  match(topic: string, mayRead: (owner: string) => boolean): Map<Session, number> {
    return this.#index.match(topic, mayRead)
  }

  /**
   * Matches a message with those of its subscribers that are kept and with what is retained. Nothing shows until
   * `commit`.
   */
  route(message: StoredMessage, subscribers: ReadonlyMap<Session, number>): RoutedMessage {
    const changes: SessionChange[] = []
    const queued: { session: Session; entry: OutboxEntry }[] = []
    if (message.qos > 0) {
      for (const [session, qos] of subscribers) {
        // others are sent to while they are connected only
        if (qos === 0 || !session.isPersistent) continue
        const queuedMessage = { ...message, qos: Math.min(qos, message.qos), isRetained: false }
        const entry = createEntry(queuedMessage, session.outbox.reservePacketId(), ++this.#seq)
        queued.push({ session, entry })
        changes.push(queuedChange(session.clientId, entry))
      }
    }
    if (message.isRetained) {
      const { topic, payload } = message
      changes.push(payload.length === 0 ? { kind: 'unretained', topic } : { kind: 'retained', message })
    }
    return {
      changes,
      commit: () => {
        if (message.isRetained) this.#retain(message)
        for (const { session, entry } of queued) this.#queue(session, entry)
      },
      abandon: () => {
        for (const { session, entry } of queued) session.outbox.releasePacketId(entry.packetId)
      },
    }
  }

  /** Queues a message for one session only. Resolves when it is on the disk, which sending does not wait for. */
  queueFor(session: Session, message: StoredMessage): Promise<void> {
    const { clientId, outbox, isPersistent } = session
    const entry = createEntry(message, outbox.reservePacketId(), isPersistent ? ++this.#seq : 0)
    const written = isPersistent ? this.write(queuedChange(clientId, entry)) : Promise.resolve()
    this.#queue(session, entry)
    return written
  }

  /** Queues a message for the connection of a session: what is not acknowledged when it ends is forgotten. */
  queueForNow(session: Session, message: StoredMessage): void {
    this.#queue(session, createEntry(message, session.outbox.reservePacketId(), 0))
  }

  /** Takes out of a queue what its client may not read any more. */
  recheck(session: Session, mayRead: (topic: string) => boolean): void {
    for (const entry of session.outbox.entries()) {
      if (mayRead(entry.message.topic)) continue
      session.outbox.remove(entry)
      this.#settle(entry)
    }
    // what was taken out may have filled the window
    session.outbox.pump()
  }

  /** Puts another message into the place of a queued one. */
  amend(session: Session, entry: OutboxEntry, message: StoredMessage): Promise<void> {
    entry.message = message
    return this.write(queuedChange(session.clientId, entry))
  }

  /** The client has a message for good. Returns it, if it was known. */
  acknowledge(session: Session, packetId: number, isCompletion: boolean): OutboxEntry | undefined {
    const entry = session.outbox.acknowledge(packetId, isCompletion)
    if (entry !== undefined) this.#settle(entry)
    return entry
  }

  /** PUBREC has come; resolves when a restart would know it, before which PUBREL must not be sent. */
  async release(session: Session, packetId: number): Promise<void> {
    const entry = session.outbox.markReleased(packetId)
    if (entry !== undefined && entry.seq > 0) await this.write({ kind: 'released', seq: entry.seq })
  }

  /** A QoS 2 message was taken outside of a transaction of its own. */
  async receive(session: Session, packetId: number, extra: string | null): Promise<void> {
    session.received.set(packetId, extra)
    const { clientId, isPersistent } = session
    if (isPersistent) await this.write({ kind: 'received', clientId, packetId, extra })
  }

  /** Frees all packet identifiers of a session. */
  async completeAll(session: Session): Promise<void> {
    if (session.received.size === 0) return
    session.received.clear()
    if (session.isPersistent) await this.write({ kind: 'completedAll', clientId: session.clientId })
  }

  /** PUBREL has come: the packet identifier is free. Resolves when a restart would know it. */
  async complete(session: Session, packetId: number): Promise<void> {
    session.received.delete(packetId)
    const { clientId, isPersistent } = session
    if (isPersistent) await this.write({ kind: 'completed', clientId, packetId })
  }

  putWill(will: StoredWill): Promise<void> {
    this.wills.set(will.clientId, will)
    return this.write({ kind: 'willed', ...will })
  }

  async deleteWill(clientId: string): Promise<void> {
    if (this.wills.delete(clientId)) await this.write({ kind: 'unwilled', clientId })
  }

  /** Writes changes down in their turn; resolves when they are on the disk, rejects when they never will be. */
  write(...changes: SessionChange[]): Promise<void> {
    if (changes.length === 0) return Promise.resolve()
    return this.#append(changes)
  }

  /** One more hour has passed: counts it for sessions that are away and deletes those away for too long. */
  ageSessions(): void {
    const limitHours = this.#limits.expiryDays * 24
    const away = [...this.#byClientId.values()].filter((session) => session.connection === undefined)
    for (const session of away) session.idleHours++
    for (const { clientId, idleHours } of away) {
      if (limitHours === 0 || idleHours < limitHours) continue
      this.dropped.add('session_expired')
      this.discard(clientId).catch(IGNORE_FAILURE)
    }
    const kept = away.filter(({ isGone }) => !isGone)
    const idle = kept.map(({ clientId, idleHours }) => ({ clientId, hours: idleHours }))
    if (idle.length > 0) this.#note({ kind: 'idled', idle })
  }

  #append(changes: readonly SessionChange[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#journal.append(changes, resolve, (reason) => reject(new Error(reason)))
    })
  }

  /** Stores changes that no caller waits for. */
  #note(...changes: SessionChange[]): void {
    this.write(...changes).catch(IGNORE_FAILURE)
  }

  #addSubscription(session: Session, subscription: StoredSubscription): void {
    const known = session.subscriptions.get(subscription.topicFilter)
    if (known !== undefined) this.#removeSubscription(known)
    const held = { ...subscription, holder: session }
    session.subscriptions.set(held.topicFilter, held)
    this.#index.add(held)
  }

  #removeSubscription(subscription: SessionSubscription): void {
    subscription.holder.subscriptions.delete(subscription.topicFilter)
    this.#index.delete(subscription)
  }

  #uncount(session: Session): void {
    if (!session.isCounted) return
    session.isCounted = false
    const left = this.keptBy(session.owner) - 1
    if (left === 0) this.#keptBy.delete(session.owner)
    else this.#keptBy.set(session.owner, left)
  }

  #retain(message: StoredMessage): void {
    for (const topic of this.retained.set(message)) {
      this.dropped.add('retained_full')
      this.#note({ kind: 'unretained', topic })
    }
  }

  #queue(session: Session, entry: OutboxEntry): void {
    // a session that was discarded meanwhile: its row went with it
    if (session.isGone) return
    session.outbox.push(entry)
    this.#makeRoom()
  }

  /** While there is too much in all queues together, drops of the owner that has most of it. */
  #makeRoom(): void {
    const { messages, bytes } = this.#limits.queued
    while (this.queued.messages > messages || this.queued.bytes > bytes) {
      const fullest = this.queued.fullest(this.queued.messages > messages ? 'messages' : 'bytes')
      if (fullest === undefined) return
      fullest.dropOldest()
    }
  }

  /** Takes a message off the disk. */
  #settle({ seq }: OutboxEntry): void {
    if (seq > 0) this.#dequeued.add(seq)
  }
}

/** Takes out of the queue what was meant for one connection only, which is over. */
function forgetUnkept({ outbox }: Session): void {
  for (const entry of [...outbox.entries()]) if (entry.seq === 0) outbox.remove(entry)
}

function queuedChange(clientId: string, { seq, packetId, isReleased, message }: OutboxEntry): SessionChange {
  return { kind: 'queued', seq, clientId, packetId, isReleased, message }
}
