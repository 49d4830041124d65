import type { PreparedMessage } from '#domain/downlink.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { UnavailableError } from '#shared/errors.ts'

/**
 * Performs a write together with the messages it publishes: both are on the disk or neither is. `write` puts the
 * changes into its transaction, and in its `onWritten` changes memory, then calls `commit`: nothing is sent before.
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
    // a store that stopped responding may still write it: it is then committed late, with its packet identifiers
    const isUndecided = isCommitted || error instanceof UnavailableError
    if (!isUndecided) for (const message of messages) message.abandon()
    throw error
  }
}
