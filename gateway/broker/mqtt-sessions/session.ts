import type { StoredSubscription } from '#domain/mqtt-sessions.ts'
import type { Outbox, OutboxSink } from './outbox.ts'

export interface SessionConnection extends OutboxSink {
  /** True if the client has logged in and is connected. */
  readonly isReady: boolean
  /** Sends a QoS 0 message, unless the client has not read earlier ones. */
  sendOnce(topic: string, payload: Buffer | string, retain: boolean): boolean
}

export interface SessionSubscription extends StoredSubscription {
  readonly holder: Session
}

/** State of a client: persistent if it connected with clean session 0, otherwise for one connection. */
export class Session {
  readonly clientId: string
  readonly owner: string
  readonly isPersistent: boolean
  readonly outbox: Outbox
  readonly subscriptions = new Map<string, SessionSubscription>()
  /** Packet identifiers of QoS 2 messages that were received and not released, with the packet where it is stored. */
  readonly received = new Map<number, string | null>()
  idleHours = 0
  connection: SessionConnection | undefined
  isGone = false
  /** True if it counts towards the persistent sessions of its owner. */
  isCounted = false

  constructor(clientId: string, owner: string, isPersistent: boolean, outbox: Outbox) {
    this.clientId = clientId
    this.owner = owner
    this.isPersistent = isPersistent
    this.outbox = outbox
  }
}
