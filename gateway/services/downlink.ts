import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { UnavailableError } from '#shared/errors.ts'

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
   * Hands a QoS 1 message to the one connection of a device now; false when it is not connected or has not subscribed to
   * the topic. It is never kept for later: the sender remembers what was not answered.
   */
  send(hardwareId: string, topic: string, payload: string): boolean
}

/**
 * Performs a write together with what it publishes: both are on the disk or neither is. `write` puts the changes into its
 * transaction, and in its `onWritten` changes memory, then calls `commit`: nothing is sent before.
 */
export async function publishWith<Result>(
  messages: readonly PreparedMessage[],
  write: (sessionChanges: SessionChange[], commit: () => void) => Promise<Result>,
): Promise<Result> {
  let isCommitted = false
  const commit = () => {
    isCommitted = true
    for (const message of messages) message.commit()
  }
  try {
    return await write(
      messages.flatMap(({ changes }) => changes),
      commit,
    )
  } catch (error) {
    // a store that stopped answering may write it yet: then it is committed late, under the packet identifiers it has
    const isUndecided = isCommitted || error instanceof UnavailableError
    if (!isUndecided) for (const message of messages) message.abandon()
    throw error
  }
}
