import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { AppendResult } from './append.ts'
import type { Appendable, Appender } from './appender.ts'

/** Rows that are acknowledged and told of in a turn of the event loop. */
const ROWS_A_TURN = 50

/** Tells what became of messages. A listener that fails is logged and harms neither the queue nor the others. */
export class Outcomes<Message extends Appendable> {
  readonly #appender: Appender<Message>
  readonly #log: Log

  constructor(appender: Appender<Message>, log: Log) {
    this.#appender = appender
    this.#log = log
  }

  /** They are on the disk: what they change is true now. */
  committed(messages: readonly Message[], result: AppendResult): void {
    this.#attempt('stored messages, but could not update the state in memory', () =>
      this.#appender.committed(messages, result),
    )
  }

  /** Acknowledges each and tells the world of it, a few a turn. */
  async acknowledge(messages: readonly Message[]): Promise<void> {
    let rows = 0
    for (const message of messages) {
      if (rows >= ROWS_A_TURN) {
        await new Promise(setImmediate)
        rows = 0
      }
      rows += message.rows
      this.stored(message)
      this.#attempt('stored a message, but could not announce it', () => this.#appender.announce(message))
    }
  }

  stored(message: Message): void {
    this.#attempt('stored a message, but could not acknowledge it', () => message.onStored())
  }

  refused(message: Message, reason: string): void {
    this.#attempt('could not report a refused message', () => this.#appender.refused(message, reason))
  }

  #attempt(failure: string, tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#log.error({ reason: describeError(error) }, failure)
    }
  }
}
