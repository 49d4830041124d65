import type { PreparedMessage } from '#domain/downlink.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { UnavailableError } from '#shared/errors.ts'

/**
 * Performs a write together with what it publishes: both are on the disk or neither is. `write` puts the changes into
 * its transaction, and in its `onWritten` changes memory, then calls `commit`: nothing is sent before.
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
