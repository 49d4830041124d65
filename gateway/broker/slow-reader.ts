import type { Client } from 'aedes'
import { streamOf } from './aedes-internals.ts'

/** Where unread QoS 0 messages begin to be left out. */
const SKIP_BYTES = 65_536

/**
 * Lets a client that reads slowly harm only itself. Aedes makes every publisher wait until the slowest subscriber has
 * drained; here writing never waits, and what a client has not read is counted instead.
 */
export function neverWaitForDrain(client: Client): void {
  const stream = streamOf(client)
  const write = stream.write.bind(stream)
  const writeOn = (...args: Parameters<typeof write>) => {
    write(...args)
    return true
  }
  Object.assign(stream, { write: writeOn })
}

/** What to do with one more message for a client: send it, leave it out, or cut the client off. */
export function forwardDecision(
  qos: number,
  unreadBytes: number,
  maxUnreadBytes: number,
): 'send' | 'skip' | 'cut' {
  if (unreadBytes <= SKIP_BYTES) return 'send'
  if (unreadBytes > maxUnreadBytes) return 'cut'
  return qos === 0 ? 'skip' : 'send'
}
