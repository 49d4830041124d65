import type { StoredMessage } from '#domain/mqtt-sessions.ts'
import { Fifo } from '#shared/budgets/fifo.ts'
import type { QueueShares } from './queue-shares.ts'

/** A QoS 1 or 2 message on its way to a client, until the client has acknowledged it. */
export interface OutboxEntry {
  /** Its place in the order of all; 0 for one that is in memory only. */
  readonly seq: number
  readonly packetId: number
  message: StoredMessage
  readonly sizeBytes: number
  /** It may have been sent before, on this connection or an earlier one. */
  wasSent: boolean
  /** PUBREC has come. */
  isReleased: boolean
  /** It has come on this connection, and may not be on the disk yet. */
  isReceived: boolean
  isInFlight: boolean
  isGone: boolean
}

/** What a client answers to a message. */
export type AcknowledgementType = 'puback' | 'pubrec' | 'pubcomp'

/** A connection as the outbox sees it. */
export interface OutboxSink {
  /** False while the client has not read what it was sent. */
  hasRoom(): boolean
  sendPublish(entry: OutboxEntry): void
  sendRelease(packetId: number): void
}

export interface OutboxLimits {
  /** Messages sent and not acknowledged at once. */
  inFlight: number
  messages: number
  bytes: number
}

/** Whose limit a message had to make room for: of its own queue, or of all together. */
export type DropReason = 'queue_full' | 'queues_full'

/** What a message is reckoned at beyond its payload and topic. */
const ENTRY_BYTES = 200
const PACKET_ID_MAX = 65_535

/**
 * The messages of one client, in order: sent as far as the window of unacknowledged ones allows, and sent again with
 * their own packet identifiers on the next connection [MQTT-4.4.0-1]. New messages join at the end, so nothing
 * overtakes what waited while the client was away.
 */
export class Outbox {
  readonly #limits: OutboxLimits
  readonly #owner: string
  readonly #shares: QueueShares<Outbox>
  readonly #onDropped: (entry: OutboxEntry, reason: DropReason) => void
  readonly #entries = new Map<number, OutboxEntry>()
  readonly #reservedIds = new Set<number>()
  /** Kept while a connection is there. */
  #unsent = new Fifo<OutboxEntry>()
  #waiting: (() => void)[] = []
  #sink: OutboxSink | undefined
  #inFlight = 0
  #bytes = 0
  #lastPacketId = 0
  #dropped = 0

  /** Counts itself into the share of its owner; `onDropped` is called for every message that had to make room. */
  constructor(
    limits: OutboxLimits,
    owner: string,
    shares: QueueShares<Outbox>,
    onDropped: (entry: OutboxEntry, reason: DropReason) => void,
  ) {
    this.#limits = limits
    this.#owner = owner
    this.#shares = shares
    this.#onDropped = onDropped
  }

  get messageCount(): number {
    return this.#entries.size
  }

  get byteCount(): number {
    return this.#bytes
  }

  get inFlightCount(): number {
    return this.#inFlight
  }

  /** Messages that had to make room. */
  get droppedCount(): number {
    return this.#dropped
  }

  get(packetId: number): OutboxEntry | undefined {
    return this.#entries.get(packetId)
  }

  /** In the order in which they are sent. */
  entries(): IterableIterator<OutboxEntry> {
    return this.#entries.values()
  }

  /** Forgets all messages. */
  clear(): void {
    for (const entry of this.#entries.values()) this.remove(entry)
  }

  /** A packet identifier that is not in use; it is taken until `push` or `releasePacketId`. */
  reservePacketId(): number {
    do this.#lastPacketId = (this.#lastPacketId % PACKET_ID_MAX) + 1
    while (this.#entries.has(this.#lastPacketId) || this.#reservedIds.has(this.#lastPacketId))
    this.#reservedIds.add(this.#lastPacketId)
    return this.#lastPacketId
  }

  releasePacketId(packetId: number): void {
    this.#reservedIds.delete(packetId)
  }

  /**
   * Takes up what is stored, oldest first. Returns an older message with the packet identifier of this one: its client
   * had it for good, or the identifier would not have been free, and the process ended before it was off the disk.
   */
  restore(entry: OutboxEntry): OutboxEntry | undefined {
    const { packetId } = entry
    const settled = this.#entries.get(packetId)
    if (settled !== undefined) this.remove(settled)
    // identifiers go on where they were: one that is given anew may still be on its way from the client
    this.#lastPacketId = packetId
    this.push(entry)
    return settled
  }

  push(entry: OutboxEntry): void {
    this.#reservedIds.delete(entry.packetId)
    this.#entries.set(entry.packetId, entry)
    if (this.#sink !== undefined) {
      this.#skipGone()
      this.#unsent.push(entry)
    }
    this.#bytes += entry.sizeBytes
    this.#shares.added(this.#owner, this, entry.sizeBytes)
    while (this.#entries.size > this.#limits.messages || this.#bytes > this.#limits.bytes) {
      const oldest = this.#oldest()
      if (oldest === undefined || oldest === entry) break
      this.#drop(oldest, 'queue_full')
    }
    this.pump()
  }

  /** Takes the oldest message out to make room for others' messages. */
  dropOldest(): void {
    const oldest = this.#oldest()
    if (oldest !== undefined) this.#drop(oldest, 'queues_full')
  }

  /** Takes a message out to make room. */
  #drop(entry: OutboxEntry, reason: DropReason): void {
    this.remove(entry)
    this.#dropped++
    this.#onDropped(entry, reason)
    // it may have held a place in the window
    this.pump()
  }

  /**
   * Whether an acknowledgement that has been read from a connection fits the message sent on it; what is not in flight
   * there is nothing to judge by. Has to be told of each, in order.
   */
  isExpected(sink: OutboxSink, type: AcknowledgementType, packetId: number): boolean {
    const entry = this.#entries.get(packetId)
    if (sink !== this.#sink || !entry?.isInFlight) return true
    if (entry.message.qos === 1) return type === 'puback'
    if (type === 'pubrec') entry.isReceived = true
    return type === 'pubrec' || (type === 'pubcomp' && (entry.isReceived || entry.isReleased))
  }

  /** The client has a QoS 1 message, or the last step of a QoS 2 message is done. Returns it, if it was known. */
  acknowledge(packetId: number, isCompletion: boolean): OutboxEntry | undefined {
    const entry = this.#entries.get(packetId)
    // PUBACK ends QoS 1 and PUBCOMP ends QoS 2
    if (entry === undefined || isCompletion !== entry.message.qos > 1) return undefined
    this.remove(entry)
    this.pump()
    return entry
  }

  /** PUBREC has come: from now on PUBREL is what is sent. Returns the message, if it is one of QoS 2. */
  markReleased(packetId: number): OutboxEntry | undefined {
    const entry = this.#entries.get(packetId)
    if (entry === undefined || entry.message.qos !== 2) return undefined
    entry.isReleased = true
    return entry
  }

  /** A connection begins: everything that is not acknowledged is sent, oldest first. */
  attach(sink: OutboxSink): void {
    this.#sink = sink
    this.#inFlight = 0
    this.#unsent = new Fifo()
    for (const entry of this.#entries.values()) {
      entry.isInFlight = false
      entry.isReceived = false
      this.#unsent.push(entry)
    }
    this.pump()
  }

  /** The connection has ended; nothing happens if another one has taken its place. */
  detach(sink: OutboxSink): void {
    if (this.#sink !== sink) return
    this.#sink = undefined
    this.#unsent = new Fifo()
    this.#callWaiting()
  }

  /** Sends what the window and the connection allow. */
  pump(): void {
    const sink = this.#sink
    while (sink !== undefined && this.#inFlight < this.#limits.inFlight && sink.hasRoom()) {
      const entry = this.#unsent.take()
      if (entry === undefined) return
      if (entry.isGone) continue
      this.#inFlight++
      entry.isInFlight = true
      if (entry.isReleased) sink.sendRelease(entry.packetId)
      else sink.sendPublish(entry)
      entry.wasSent = true
    }
  }

  #oldest(): OutboxEntry | undefined {
    // what is in flight will be acknowledged in a moment, unless nobody is there to do it
    if (this.#sink !== undefined) {
      this.#skipGone()
      const head = this.#unsent.peek()
      if (head !== undefined) return head
    }
    const [oldest] = this.#entries.values()
    return oldest
  }

  remove(entry: OutboxEntry): void {
    if (entry.isGone) return
    entry.isGone = true
    this.#entries.delete(entry.packetId)
    this.#bytes -= entry.sizeBytes
    this.#shares.removed(this.#owner, this, entry.sizeBytes)
    if (entry.isInFlight) this.#inFlight--
    if (this.#hasHalfFree) this.#callWaiting()
  }

  /** Calls back once half of the queue is free, or nobody is connected any more: for what can wait to be queued. */
  whenHalfFree(done: () => void): void {
    if (this.#hasHalfFree || this.#sink === undefined) done()
    else this.#waiting.push(done)
  }

  get #hasHalfFree(): boolean {
    const { messages, bytes } = this.#limits
    return this.#entries.size <= messages / 2 && this.#bytes <= bytes / 2
  }

  #callWaiting(): void {
    for (const done of this.#waiting.splice(0)) setImmediate(done)
  }

  #skipGone(): void {
    while (this.#unsent.peek()?.isGone) this.#unsent.take()
  }
}

/** A new entry for a message; `seq` 0 keeps it in memory only. */
export function createEntry(message: StoredMessage, packetId: number, seq: number): OutboxEntry {
  const sizeBytes = ENTRY_BYTES + message.topic.length + message.payload.length
  return {
    seq,
    packetId,
    message,
    sizeBytes,
    wasSent: false,
    isReleased: false,
    isReceived: false,
    isInFlight: false,
    isGone: false,
  }
}
