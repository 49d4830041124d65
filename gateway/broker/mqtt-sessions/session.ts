import type { StoredSubscription } from '#domain/mqtt-sessions.ts'
import type { Outbox, OutboxSink } from './outbox.ts'

/** What the broker keeps for a client that connected with clean session 0, or for as long as a connection lasts. */
export class Session {
  readonly clientId: string
  readonly owner: string
  readonly isPersistent: boolean
  readonly outbox: Outbox
  readonly subscriptions = new Map<string, StoredSubscription>()
  /** Packet identifiers of QoS 2 messages that were taken and not released, with the packet where it is kept. */
  readonly received = new Map<number, string | null>()
  idleHours = 0
  connection: OutboxSink | undefined
  isGone = false

  constructor(clientId: string, owner: string, isPersistent: boolean, outbox: Outbox) {
    this.clientId = clientId
    this.owner = owner
    this.isPersistent = isPersistent
    this.outbox = outbox
  }
}
