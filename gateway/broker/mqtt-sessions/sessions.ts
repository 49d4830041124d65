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

export interface SessionJournal {
  load(): StoredSessions
  /** Calls `onStored` when the changes are on the disk, or `onRefused` if they never will be. */
  append(changes: readonly SessionChange[], onStored: () => void, onRefused: (reason: string) => void): void
}

export interface SessionLimits {
  outbox: OutboxLimits
  /** Limits for all clients together. */
  queued: { messages: number; bytes: number }
  retained: RetainedLimits
  /** Days without a connection after which a session is deleted; counted while the gateway runs. */
  expiryDays: number
}

/** Message that was matched, its changes to store, and the steps afterwards. */
export interface RoutedMessage {
  changes: SessionChange[]
  /** Makes it visible; must be called once, when the changes are on the disk. */
  commit(): void
  /** Drops it; must be called if the changes will never be on the disk. */
  abandon(): void
}

/** Handler for promises without a caller: the journal has reported the failure. */
const IGNORE_FAILURE = () => undefined

/**
 * All sessions, retained messages and wills: in memory, and stored through the journal in order of change. A message is
 * queued in the transaction that stores it, so once acknowledged, it reaches subscribers even after a power cut.
 */
export class Sessions implements Component {
  readonly retained: RetainedMessages
  readonly wills = new Map<string, StoredWill>()
  /** Number of dropped messages and expired sessions, by reason. */
  readonly dropped = new Counter(LIMIT_DROPS)
  readonly #journal: SessionJournal
  readonly #limits: SessionLimits
  readonly #byClientId = new Map<string, Session>()
  readonly #index = new SubscriptionIndex<Session>()
  readonly #keptBy = new Map<string, number>()
  readonly queued = new QueueShares<Outbox>()
  #seq = 0
  readonly #dequeued = new DequeuedBatch((seqs) => this.#note({ kind: 'dequeued', seqs }))
  #ageTimer: NodeJS.Timeout | undefined

  constructor(journal: SessionJournal, limits: SessionLimits) {
    this.#journal = journal
    this.#limits = limits
    this.retained = new RetainedMessages(limits.retained, (topic) => !/^(dev|sit)\//.test(topic))
  }

  /** Loads the state from the journal. */
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
      // not stored whether it was sent; a repeated message must have the DUP flag [MQTT-3.3.1-1], another one may
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

  /** Stores the changes that were held back; another component closes the journal. */
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

  /** Number of persistent sessions, with and without a connection. */
  get count(): number {
    return this.#byClientId.size
  }

  /** Number of persistent sessions of an owner that exist or are being created. */
  keptBy(owner: string): number {
    return this.#keptBy.get(owner) ?? 0
  }

  /** Creates a persistent session; the caller must enter or abandon it. */
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

  /** Abandons a session when the connection it was created for ends; does nothing if it was entered. */
  abandon(session: Session): void {
    if (this.#byClientId.get(session.clientId) !== session) this.#uncount(session)
  }

  /** Creates a session that lasts as long as its connection and is never stored. */
  createTransient(clientId: string, owner: string): Session {
    const outbox = new Outbox(this.#limits.outbox, owner, this.queued, (_entry, reason) => this.dropped.add(reason))
    return new Session(clientId, owner, false, outbox)
  }

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

  /** Creates a session for a client that is offline. */
  enterAbsent(clientId: string): Session {
    const session = this.create(clientId, '')
    this.#note({ kind: 'opened', clientId, owner: '' })
    this.#byClientId.set(clientId, session)
    return session
  }

  /** Detaches a connection that has ended; does nothing if another one has replaced it. */
  leave(session: Session, connection: SessionConnection): void {
    session.outbox.detach(connection)
    if (session.connection !== connection) return
    session.connection = undefined
    if (session.isPersistent) forgetUnkept(session)
    else this.close(session)
  }

  close(session: Session): void {
    session.isGone = true
    this.#uncount(session)
    for (const subscription of session.subscriptions.values()) this.#removeSubscription(subscription)
    session.outbox.clear()
  }

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
    // in order, even without changes: the topic filters of a SUBSCRIBE are processed one after the other
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

  /** Number of subscriptions of all clients, connected or not. */
  get allSubscriptionCount(): number {
    return this.#index.size
  }

  get subscriptionVersion(): number {
    return this.#index.version
  }

  /** Returns the number of subscriptions of all clients of an owner, connected or not. */
  subscriptionsOf(owner: string): number {
    return this.#index.sizeOf(owner)
  }

  /** Returns the sessions subscribed to a topic that their owner may read, each with the highest matching QoS. */
  match(topic: string, mayRead: (owner: string) => boolean): Map<Session, number> {
    return this.#index.match(topic, mayRead)
  }

  /** Matches a message with its persistent subscribers and the retained messages. Nothing is visible until `commit`. */
  route(message: StoredMessage, subscribers: ReadonlyMap<Session, number>): RoutedMessage {
    const changes: SessionChange[] = []
    const queued: { session: Session; entry: OutboxEntry }[] = []
    if (message.qos > 0) {
      for (const [session, qos] of subscribers) {
        // other sessions receive messages only while connected
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

  /** Queues a message for one session only. Resolves when it is on the disk; sending does not wait for that. */
  queueFor(session: Session, message: StoredMessage): Promise<void> {
    const { clientId, outbox, isPersistent } = session
    const entry = createEntry(message, outbox.reservePacketId(), isPersistent ? ++this.#seq : 0)
    const written = isPersistent ? this.write(queuedChange(clientId, entry)) : Promise.resolve()
    this.#queue(session, entry)
    return written
  }

  /** Queues a message for the connection of a session: it is dropped if not acknowledged when the connection ends. */
  queueForNow(session: Session, message: StoredMessage): void {
    this.#queue(session, createEntry(message, session.outbox.reservePacketId(), 0))
  }

  /** Removes messages from a queue that its client may no longer read. */
  recheck(session: Session, mayRead: (topic: string) => boolean): void {
    for (const entry of session.outbox.entries()) {
      if (mayRead(entry.message.topic)) continue
      session.outbox.remove(entry)
      this.#settle(entry)
    }
    // the removed messages may have filled the window
    session.outbox.pump()
  }

  amend(session: Session, entry: OutboxEntry, message: StoredMessage): Promise<void> {
    entry.message = message
    return this.write(queuedChange(session.clientId, entry))
  }

  acknowledge(session: Session, packetId: number, isCompletion: boolean): OutboxEntry | undefined {
    const entry = session.outbox.acknowledge(packetId, isCompletion)
    if (entry !== undefined) this.#settle(entry)
    return entry
  }

  /** Handles PUBREC; resolves when a restart would know it. PUBREL must not be sent before. */
  async release(session: Session, packetId: number): Promise<void> {
    const entry = session.outbox.markReleased(packetId)
    if (entry !== undefined && entry.seq > 0) await this.write({ kind: 'released', seq: entry.seq })
  }

  /** Records a QoS 2 message that was received outside of a transaction of its own. */
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

  /** Handles PUBREL: the packet identifier is free. Resolves when a restart would know it. */
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

  /** Stores changes in order; resolves when they are on the disk, rejects if they never will be. */
  write(...changes: SessionChange[]): Promise<void> {
    if (changes.length === 0) return Promise.resolve()
    return this.#append(changes)
  }

  /** Adds an hour to the age of sessions that are offline, and deletes expired ones. */
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
    // the session was discarded in the meantime, and its row deleted
    if (session.isGone) return
    session.outbox.push(entry)
    this.#makeRoom()
  }

  /** Drops messages of the owner with most while all queues together exceed their limit. */
  #makeRoom(): void {
    const { messages, bytes } = this.#limits.queued
    while (this.queued.messages > messages || this.queued.bytes > bytes) {
      const fullest = this.queued.fullest(this.queued.messages > messages ? 'messages' : 'bytes')
      if (fullest === undefined) return
      fullest.dropOldest()
    }
  }

  /** Deletes a message from the disk. */
  #settle({ seq }: OutboxEntry): void {
    if (seq > 0) this.#dequeued.add(seq)
  }
}

/** Removes messages from the queue that were meant only for the connection that has ended. */
function forgetUnkept({ outbox }: Session): void {
  for (const entry of [...outbox.entries()]) if (entry.seq === 0) outbox.remove(entry)
}

function queuedChange(clientId: string, { seq, packetId, isReleased, message }: OutboxEntry): SessionChange {
  return { kind: 'queued', seq, clientId, packetId, isReleased, message }
}
