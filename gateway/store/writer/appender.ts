import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { AppendBatch, AppendResult } from './append.ts'
import type { WriterRequest } from './messages.ts'

/** Received message that waits for the disk. */
export interface Appendable {
  /** Maximum number of rows it adds; at least 1. */
  rows: number
  /** Changes that the MQTT broker stores together with it. */
  sessionChanges: readonly SessionChange[]
  /** Called once, when the message may be acknowledged; never for a refused message. */
  onStored: () => void
  /** Called instead if the store refuses the message. */
  onRefused: (reason: string) => void
}

/** Encodes messages as rows, and receives the outcome. */
export interface Appender<Message extends Appendable> {
  /**
   * Called when the writer takes the next batch, possibly before the previous one is committed: the batch builds on the
   * state that `encode` prepared for that one. No prepared state may be visible before `committed`.
   */
  encode(messages: readonly Message[]): AppendBatch
  /** Called when the oldest encoded batch is on the disk: its changes take effect now. */
  committed(messages: readonly Message[], result: AppendResult): void
  /** Publishes a committed message, after its `onStored`, so that no acknowledgement waits for listeners. */
  announce(message: Message): void
  /** Called when no encoded but uncommitted batch will be stored; its messages are encoded again. */
  discarded(): void
  /** Messages to store or refuse individually, instead of a message that cannot be stored with others. */
  split?(message: Message): readonly Message[]
  /** Called for a message whose rows alone fail the transaction: it is not stored, and `onStored` is never called. */
  refused(message: Message, reason: string): void
  /**
   * Called for a message whose rows need a damaged page. Returns a request that keeps the message elsewhere: once it is
   * written the message is acknowledged, otherwise it is `refused`. Null if the message cannot be kept.
   */
  rescue?(message: Message): WriterRequest | null
}
