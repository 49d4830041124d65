/** Message as stored for a topic or a client. */
export interface StoredMessage {
  topic: string
  payload: Uint8Array | string
  qos: number
  isRetained: boolean
  /** Other fields of the packet, as a JSON object; null if none. */
  extra: string | null
}

export interface StoredSubscription {
  clientId: string
  topicFilter: string
  qos: number
  extra: string | null
}

export interface StoredSession {
  clientId: string
  /** User or device that owns the session; no other may resume it. */
  owner: string
  /** Whole hours without a connection while the gateway ran. */
  idleHours: number
}

/** Message that waits for a client; `seq` is its position in the order of all. */
export interface QueuedMessage {
  seq: number
  clientId: string
  /** Packet identifier of its transmission. */
  packetId: number
  /** True after PUBREC was received: only PUBREL must still be sent. */
  isReleased: boolean
  message: StoredMessage
}

/** Packet identifier of a QoS 2 message that was accepted and whose PUBREL has not arrived. */
export interface ReceivedPacketId {
  clientId: string
  packetId: number
  /** Packet as JSON if the caller needs it back; null otherwise. */
  extra: string | null
}

export interface StoredWill {
  clientId: string
  owner: string
  message: StoredMessage
}

/** Everything that a broker needs to continue where it stopped. */
export interface StoredSessions {
  sessions: StoredSession[]
  subscriptions: StoredSubscription[]
  /** Sorted by `seq`. */
  queued: QueuedMessage[]
  received: ReceivedPacketId[]
  retained: StoredMessage[]
  wills: StoredWill[]
}

/** Change of the broker's stored state. Repeatable with the same result, as after a write with an unknown result. */
export type SessionChange =
  /** Created, or resumed. */
  | { kind: 'opened'; clientId: string; owner: string }
  /** Deleted with its subscriptions, its queue and its packet identifiers. */
  | { kind: 'discarded'; clientId: string }
  | ({ kind: 'subscribed' } & StoredSubscription)
  | { kind: 'unsubscribed'; clientId: string; topicFilter: string }
  | ({ kind: 'queued' } & QueuedMessage)
  | { kind: 'released'; seq: number }
  | { kind: 'dequeued'; seqs: number[] }
  | ({ kind: 'received' } & ReceivedPacketId)
  | { kind: 'completed'; clientId: string; packetId: number }
  | { kind: 'completedAll'; clientId: string }
  | { kind: 'retained'; message: StoredMessage }
  | { kind: 'unretained'; topic: string }
  | ({ kind: 'willed' } & StoredWill)
  | { kind: 'unwilled'; clientId: string }
  /** Contains the total of hours, not an increment, because it may be written twice. */
  | { kind: 'idled'; idle: { clientId: string; hours: number }[] }

/** Returns the number of rows that the changes write, for the size of a transaction. */
export function countRows(changes: readonly SessionChange[]): number {
  let rows = 0
  for (const change of changes) {
    if (change.kind === 'dequeued') rows += change.seqs.length
    else if (change.kind === 'idled') rows += change.idle.length
    else rows++
  }
  return rows
}
