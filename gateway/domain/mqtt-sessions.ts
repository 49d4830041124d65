/** A message as it is kept for a topic or a client. */
export interface StoredMessage {
  topic: string
  payload: Uint8Array | string
  qos: number
  isRetained: boolean
  /** What else the packet carried, as a JSON object; null for nothing. */
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
  /** The user or device that owns the session; no other may take it up. */
  owner: string
  /** Whole hours without a connection while the gateway ran. */
  idleHours: number
}

/** A message that waits for a client; `seq` is its place in the order of all. */
export interface QueuedMessage {
  seq: number
  clientId: string
  /** Packet identifier it is sent with. */
  packetId: number
  /** PUBREC has come: what is still to be sent is PUBREL. */
  isReleased: boolean
  message: StoredMessage
}

/** The packet identifier of a QoS 2 message that was taken and whose PUBREL has not come. */
export interface ReceivedPacketId {
  clientId: string
  packetId: number
  /** The packet as JSON where the caller wants it back; null otherwise. */
  extra: string | null
}

export interface StoredWill {
  clientId: string
  owner: string
  message: StoredMessage
}

/** Everything a broker needs to go on where it was stopped. */
export interface StoredSessions {
  sessions: StoredSession[]
  subscriptions: StoredSubscription[]
  /** In the order of `seq`. */
  queued: QueuedMessage[]
  received: ReceivedPacketId[]
  retained: StoredMessage[]
  wills: StoredWill[]
}

/**
 * One change of what the broker keeps. Each can be written twice with the same outcome, because a batch whose fate is
 * not known is written again.
 */
export type SessionChange =
  /** Made, or taken up again. */
  | { kind: 'opened'; clientId: string; owner: string }
  /** With its subscriptions, its queue and its packet identifiers. */
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
  /** The total of hours, not an increment: it may be written twice. */
  | { kind: 'idled'; idle: { clientId: string; hours: number }[] }

/** Rows the changes write, for the size of a transaction. */
export function countRows(changes: readonly SessionChange[]): number {
  let rows = 0
  for (const change of changes) {
    if (change.kind === 'dequeued') rows += change.seqs.length
    else if (change.kind === 'idled') rows += change.idle.length
    else rows++
  }
  return rows
}
