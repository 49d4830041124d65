import type { SessionChange } from './mqtt-sessions.ts'

/** Message matched with its subscribers; nothing is visible until `commit`. */
export interface PreparedMessage {
  /** Changes to write in the transaction that makes the message true. */
  changes: SessionChange[]
  /** Retains, queues and sends the message; call once, when the changes are on the disk. */
  commit(): void
  /** Call instead if the changes will never be written. */
  abandon(): void
}

/** Interface of the broker with which services send to devices. */
export interface Downlink {
  /** Prepares a QoS 1 message to every subscriber, including offline clients with a kept session. */
  prepare(message: { topic: string; payload: string; isRetained: boolean }): PreparedMessage
  /**
   * Sends a QoS 1 message to the current connection of a device; false if it is not connected or has not subscribed to
   * the topic. The broker never keeps it for later: the sender tracks messages without a response.
   */
  send(hardwareId: string, topic: string, payload: string): boolean
}
