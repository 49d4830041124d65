import type { Client } from 'aedes'
import { clientInternals } from './aedes-internals.ts'

const RECENT = 2048

/**
 * Turns Aedes' own filter off: it remembers only the highest counter, and so loses every message that is overtaken
 * by a later one (aedes #994, #955, #533).
 */
export function disableDuplicateFilter(client: Client): void {
  clientInternals(client).duplicates = new Proxy<Record<string, number>>(
    {},
    { get: () => 0, set: () => true },
  )
}

/** An exact filter in its place: remembers which of the last messages a client was sent. */
export class RecentMessages {
  readonly #seen = new Set<string>()

  /** Whether this is the first time the message is offered. */
  isNew(brokerId: string, brokerCounter: number): boolean {
    const key = `${brokerId}/${brokerCounter}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    if (this.#seen.size > RECENT) {
      const [oldest] = this.#seen
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    return true
  }
}
