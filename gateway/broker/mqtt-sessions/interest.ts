import { hasWildcard, matchesTopic } from '#domain/mqtt-topics.ts'

/** Wildcard filters beyond which looking at each costs more than routing in vain. */
const LOOK_AT_MOST = 32

/** Which topics somebody has subscribed to, connected or not: what nobody wants is not routed. */
export class Interest {
  readonly #exact = new Map<string, number>()
  readonly #wild = new Map<string, number>()
  #size = 0

  /** Subscriptions, equal ones of several clients each for itself. */
  get size(): number {
    return this.#size
  }

  add(topicFilter: string): void {
    this.#size++
    const counts = this.#countsFor(topicFilter)
    counts.set(topicFilter, (counts.get(topicFilter) ?? 0) + 1)
  }

  delete(topicFilter: string): void {
    this.#size--
    const counts = this.#countsFor(topicFilter)
    const count = counts.get(topicFilter) ?? 0
    if (count > 1) counts.set(topicFilter, count - 1)
    else counts.delete(topicFilter)
  }

  isWanted(topic: string): boolean {
    if (this.#exact.has(topic)) return true
    if (this.#wild.size === 0) return false
    if (this.#wild.size > LOOK_AT_MOST) return true
    for (const filter of this.#wild.keys()) if (matchesTopic(filter, topic)) return true
    return false
  }

  #countsFor(topicFilter: string): Map<string, number> {
    return hasWildcard(topicFilter) ? this.#wild : this.#exact
  }
}
