import type { StoredSubscription } from '#domain/mqtt-sessions.ts'
import type { Outbox, OutboxSink } from './outbox.ts'

/** The connection of a session. */
export interface SessionConnection extends OutboxSink {
  /** Whether the client has been let in and is there. */
  readonly isReady: boolean
  /** Sends a QoS 0 message, unless the client has not read what came before. */
  sendOnce(topic: string, payload: Buffer | string, retain: boolean): boolean
}

/** A subscription of a session. */
export interface SessionSubscription extends StoredSubscription {
  readonly holder: Session
}

/** What the broker keeps for a client that connected with clean session 0, or for as long as a connection lasts. */
export class Session {
  readonly clientId: string
  readonly owner: string
  readonly isPersistent: boolean
  readonly outbox: Outbox
  readonly subscriptions = new Map<string, SessionSubscription>()
  /** Packet identifiers of QoS 2 messages that were taken and not released, with the packet where it is kept. */
  readonly received = new Map<number, string | null>()
  idleHours = 0
  connection: SessionConnection | undefined
  isGone = false
  /** It counts as one that is kept for its owner. */
  isCounted = false

  constructor(clientId: string, owner: string, isPersistent: boolean, outbox: Outbox) {
    this.clientId = clientId
    this.owner = owner
    this.isPersistent = isPersistent
    this.outbox = outbox
  }
}
