import { Qlobber } from 'qlobber'
import type { StoredSubscription } from '#domain/mqtt-sessions.ts'
import { hasWildcard } from '#domain/mqtt-topics.ts'

/** Subscriptions of QoS 1 and 2 by topic: who has to be queued a message. */
export class SubscriptionIndex {
  readonly #exact = new Map<string, Set<StoredSubscription>>()
  readonly #wild = new Qlobber<StoredSubscription>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    // "a//b" has an empty level, and + takes it in [MQTT-4.7.1-3]
    match_empty_levels: true,
  })
  #size = 0

  get size(): number {
    return this.#size
  }

  add(subscription: StoredSubscription): void {
    const { topicFilter } = subscription
    this.#size++
    if (hasWildcard(topicFilter)) {
      this.#wild.add(topicFilter, subscription)
      return
    }
    const known = this.#exact.get(topicFilter)
    if (known === undefined) this.#exact.set(topicFilter, new Set([subscription]))
    else known.add(subscription)
  }

  delete(subscription: StoredSubscription): void {
    const { topicFilter } = subscription
    this.#size--
    if (hasWildcard(topicFilter)) {
      this.#wild.remove(topicFilter, subscription)
      return
    }
    const known = this.#exact.get(topicFilter)
    known?.delete(subscription)
    if (known?.size === 0) this.#exact.delete(topicFilter)
  }

  /** Subscriptions that take in the topic; several of one client if they overlap. */
  match(topic: string): StoredSubscription[] {
    const wild = this.#wild
      .match(topic)
      // a filter that begins with a wildcard does not see $ topics [MQTT-4.7.2-1]
      .filter(({ topicFilter }) => !topic.startsWith('$') || topicFilter.startsWith('$'))
    return [...wild, ...(this.#exact.get(topic) ?? [])]
  }
}
