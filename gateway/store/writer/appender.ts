import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { AppendBatch, AppendResult } from './append.ts'
import type { WriterRequest } from './messages.ts'

/** Something that was sent, waiting for the disk. */
export interface Appendable {
  /** Rows it adds at most; at least 1. */
  rows: number
  /** What the MQTT broker has to write for it. */
  sessionChanges: readonly SessionChange[]
  /** Called once, when it may be acknowledged; never for a message that is refused. */
  onStored: () => void
  /** Called instead when the store will not take it. */
  onRefused: (reason: string) => void
}

/** Turns messages into rows, and hears the outcome. */
export interface Appender<Message extends Appendable> {
  /**
   * Called when the writer takes the next batch, which may be before the last one is committed: the batch builds on
   * what `encode` prepared for that one. Nothing prepared may show before `committed`.
   */
  encode(messages: readonly Message[]): AppendBatch
  /** The oldest batch that was encoded is on the disk: what it changes is true from now on. */
  committed(messages: readonly Message[], result: AppendResult): void
  /** Tells the world of a committed message; comes right after its `onStored`, for nobody is to wait for listeners. */
  announce(message: Message): void
  /** Nothing of what was encoded and not committed will be; it is encoded again. */
  discarded(): void
  /** What stands for a message that cannot be stored with others: messages that are stored, or refused, one by one. */
  split?(message: Message): readonly Message[]
  /**
   * This message alone breaks the transaction: the fault is in its rows. It is not stored, so it is not acknowledged
   * either; there will be no `onStored`.
   */
  refused(message: Message, reason: string): void
  /**
   * The same, because a page that its rows need is damaged. Returns what keeps the message elsewhere: once that is
   * written it is acknowledged, else it is `refused`. Null for one that cannot be kept.
   */
  rescue?(message: Message): WriterRequest | null
}
