import { describeError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { AppendResult } from './append.ts'
import type { Appendable, Appender } from './appender.ts'

/** Number of rows acknowledged and published in one event-loop tick. */
const ROWS_A_TURN = 50

/** Reports the outcome of messages. A failing listener is logged and does not affect the queue or others. */
export class Outcomes<Message extends Appendable> {
  readonly #appender: Appender<Message>
  readonly #log: Log

  constructor(appender: Appender<Message>, log: Log) {
    this.#appender = appender
    this.#log = log
  }

  /** Called when they are on the disk: their changes take effect now. */
  committed(messages: readonly Message[], result: AppendResult): void {
    this.#attempt('messages stored, but updating the state in memory failed', () =>
      this.#appender.committed(messages, result),
    )
  }

  /** Acknowledges and publishes each message, a few in one event-loop tick. */
  async acknowledge(messages: readonly Message[]): Promise<void> {
    let rows = 0
    for (const message of messages) {
      if (rows >= ROWS_A_TURN) {
        await new Promise(setImmediate)
        rows = 0
      }
      rows += message.rows
      this.stored(message)
      this.#attempt('message stored, but publishing it failed', () => this.#appender.announce(message))
    }
  }

  stored(message: Message): void {
    this.#attempt('message stored, but acknowledging it failed', () => message.onStored())
  }

  refused(message: Message, reason: string): void {
    this.#attempt('reporting a refused message failed', () => this.#appender.refused(message, reason))
  }

  #attempt(failure: string, report: () => void): void {
    try {
      report()
    } catch (error) {
      this.#log.error({ reason: describeError(error) }, failure)
    }
  }
}
