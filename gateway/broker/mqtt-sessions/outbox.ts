import type { StoredMessage } from '#domain/mqtt-sessions.ts'
import { Fifo } from '#shared/budgets/fifo.ts'
import type { QueueShares } from './queue-shares.ts'

/** QoS 1 or 2 message for a client, until the client has acknowledged it. */
export interface OutboxEntry {
  /** Sequence number among all messages; 0 for one in memory only. */
  readonly seq: number
  readonly packetId: number
  message: StoredMessage
  readonly sizeBytes: number
  /** True if it may have been sent before, on this connection or an earlier one. */
  wasSent: boolean
  /** True if PUBREC was received. */
  isReleased: boolean
  /** True if PUBREC was received on this connection; it may not be on the disk yet. */
  isReceived: boolean
  isInFlight: boolean
  isGone: boolean
}

/** Type of a client's acknowledgement. */
export type AcknowledgementType = 'puback' | 'pubrec' | 'pubcomp'

/** Connection as the outbox sees it. */
export interface OutboxSink {
  /** False while the client has not read what it was sent. */
  hasRoom(): boolean
  sendPublish(entry: OutboxEntry): void
  sendRelease(packetId: number): void
}

export interface OutboxLimits {
  /** Maximum number of messages sent and not acknowledged. */
  inFlight: number
  messages: number
  bytes: number
}

/** Limit for which a message was dropped: of its own queue, or of all queues together. */
export type DropReason = 'queue_full' | 'queues_full'

/** Estimated bytes of a message in addition to its payload and topic. */
const ENTRY_BYTES = 200
const PACKET_ID_MAX = 65_535

/**
 * Messages of one client, in order: sent as far as the window of unacknowledged ones permits, and sent again with their
 * own packet identifiers on the next connection [MQTT-4.4.0-1]. New messages are appended, so none overtakes messages
 * that waited while the client was offline.
 */
export class Outbox {
  readonly #limits: OutboxLimits
  readonly #owner: string
  readonly #shares: QueueShares<Outbox>
  readonly #onDropped: (entry: OutboxEntry, reason: DropReason) => void
  readonly #entries = new Map<number, OutboxEntry>()
  readonly #reservedIds = new Set<number>()
  /** Maintained while a connection is attached. */
  #unsent = new Fifo<OutboxEntry>()
  #waiting: (() => void)[] = []
  #sink: OutboxSink | undefined
  #inFlight = 0
  #bytes = 0
  #lastPacketId = 0
  #dropped = 0

  /** Adds its messages to the share of its owner; `onDropped` is called for every dropped message. */
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

  /** Number of messages dropped to make room. */
  get droppedCount(): number {
    return this.#dropped
  }

  get(packetId: number): OutboxEntry | undefined {
    return this.#entries.get(packetId)
  }

  /** Returns the messages in the order of sending. */
  entries(): IterableIterator<OutboxEntry> {
    return this.#entries.values()
  }

  clear(): void {
    for (const entry of this.#entries.values()) this.remove(entry)
  }

  /** Returns an unused packet identifier; it is reserved until `push` or `releasePacketId`. */
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
   * Restores stored messages, oldest first. Returns an older message with the same packet identifier: its client had
   * acknowledged it, because the identifier was free, and the process ended before its row was deleted.
   */
  restore(entry: OutboxEntry): OutboxEntry | undefined {
    const { packetId } = entry
    const settled = this.#entries.get(packetId)
    if (settled !== undefined) this.remove(settled)
    // continues the identifiers, because the client may still send an acknowledgement with a recent one
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

  /** Drops the oldest message to make room for other clients' messages. */
  dropOldest(): void {
    const oldest = this.#oldest()
    if (oldest !== undefined) this.#drop(oldest, 'queues_full')
  }

  #drop(entry: OutboxEntry, reason: DropReason): void {
    this.remove(entry)
    this.#dropped++
    this.#onDropped(entry, reason)
    // it may have been in the window
    this.pump()
  }

  /** True if an acknowledgement fits its message on this connection, or it has none. Call for each, in order. */
  isExpected(sink: OutboxSink, type: AcknowledgementType, packetId: number): boolean {
    const entry = this.#entries.get(packetId)
    if (sink !== this.#sink || !entry?.isInFlight) return true
    if (entry.message.qos === 1) return type === 'puback'
    if (type === 'pubrec') entry.isReceived = true
    return type === 'pubrec' || (type === 'pubcomp' && (entry.isReceived || entry.isReleased))
  }

  /** Removes an acknowledged QoS 1 message, or a QoS 2 message after its last step. Returns it, if it was known. */
  acknowledge(packetId: number, isCompletion: boolean): OutboxEntry | undefined {
    const entry = this.#entries.get(packetId)
    // PUBACK ends QoS 1, PUBCOMP ends QoS 2
    if (entry === undefined || isCompletion !== entry.message.qos > 1) return undefined
    this.remove(entry)
    this.pump()
    return entry
  }

  /** Handles PUBREC: from now on PUBREL is sent. Returns the message, if it has QoS 2. */
  markReleased(packetId: number): OutboxEntry | undefined {
    const entry = this.#entries.get(packetId)
    if (entry === undefined || entry.message.qos !== 2) return undefined
    entry.isReleased = true
    return entry
  }

  /** Begins a connection: sends everything unacknowledged, oldest first. */
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

  /** Ends a connection; does nothing if another one has replaced it. */
  detach(sink: OutboxSink): void {
    if (this.#sink !== sink) return
    this.#sink = undefined
    this.#unsent = new Fifo()
    this.#callWaiting()
  }

  /** Sends what the window and the connection permit. */
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
    // messages in flight will soon be acknowledged, unless the client is offline
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

  /** Calls `done` once half of the queue is free, or the client is offline: for messages that can be queued later. */
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

/** Creates an entry for a message; `seq` 0 keeps it in memory only. */
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
