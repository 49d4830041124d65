import type { Aedes, Client } from 'aedes'
import { connectedClient } from './aedes-internals.ts'

/**
 * Closes the holder of a client id and waits until it is unregistered, before its successor is registered
 * [MQTT-3.1.4-2]. Aedes does both together, and half of the time removes the successor. Calls `onClose` once for each.
 */
export function closePreviousSession(
  aedes: Aedes,
  clientId: string,
  done: () => void,
  onClose: (predecessor: Client) => void = () => undefined,
): void {
  let closing: Client | undefined
  const closeNext = () => {
    const predecessor = connectedClient(aedes, clientId)
    if (predecessor === undefined || aedes.closed) return done()
    if (predecessor !== closing) {
      closing = predecessor
      // several may wait for its end
      if (!predecessor.closed) onClose(predecessor)
      predecessor.close()
    }
    setImmediate(closeNext)
  }
  closeNext()
}
