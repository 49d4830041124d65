import type { SessionChange } from './mqtt-sessions.ts'

/** A message matched with its subscribers; nothing shows until `commit`. */
export interface PreparedMessage {
  /** To be written in the transaction that makes the message true. */
  changes: SessionChange[]
  /** To be called once, when the changes are on the disk: it is retained, queued and sent. */
  commit(): void
  /** To be called instead when they never will be. */
  abandon(): void
}

/** What the services need of the broker to speak to devices. */
export interface Downlink {
  /** A QoS 1 message for every subscriber, also for those away whose session is kept. */
  prepare(message: { topic: string; payload: string; isRetained: boolean }): PreparedMessage
  /**
   * Hands a QoS 1 message to the one connection of a device now; false when it is not connected or has not subscribed
   * to the topic. It is never kept for later: the sender remembers what was not answered.
   */
  send(hardwareId: string, topic: string, payload: string): boolean
}
