import { Qlobber } from 'qlobber'
import { hasWildcard } from '#domain/mqtt-topics.ts'

interface Holder {
  readonly owner: string
}

export interface IndexedSubscription<Each extends Holder> {
  readonly holder: Each
  readonly topicFilter: string
  readonly qos: number
}

/**
 * All subscriptions, those with wildcards grouped by owner: an owner's right to read a topic is checked before its
 * subscriptions, so topics it may not read cost other clients nothing, however many filters it has.
 */
export class SubscriptionIndex<Each extends Holder> {
  readonly #exact = new Map<string, Set<IndexedSubscription<Each>>>()
  readonly #wild = new Map<string, { matcher: Qlobber<IndexedSubscription<Each>>; size: number }>()
  readonly #sizes = new Map<string, number>()
  #size = 0

  /** Changes with every change of subscriptions. */
  version = 0

  get size(): number {
    return this.#size
  }

  sizeOf(owner: string): number {
    return this.#sizes.get(owner) ?? 0
  }

  add(held: IndexedSubscription<Each>): void {
    this.version++
    this.#count(held.holder.owner, 1)
    if (hasWildcard(held.topicFilter)) {
      this.#addWild(held)
      return
    }
    const known = this.#exact.get(held.topicFilter)
    if (known === undefined) this.#exact.set(held.topicFilter, new Set([held]))
    else known.add(held)
  }

  delete(held: IndexedSubscription<Each>): void {
    const { holder, topicFilter } = held
    this.version++
    this.#count(holder.owner, -1)
    if (hasWildcard(topicFilter)) {
      this.#deleteWild(held)
      return
    }
    const known = this.#exact.get(topicFilter)
    known?.delete(held)
    if (known?.size === 0) this.#exact.delete(topicFilter)
  }

  /** Recipients of a message on the topic, with the highest QoS of all their matching subscriptions [MQTT-3.3.5-1]. */
  match(topic: string, mayRead: (owner: string) => boolean): Map<Each, number> {
    const found = new Map<Each, number>()
    const isSys = topic.startsWith('$')
    for (const [owner, { matcher }] of this.#wild) {
      if (!mayRead(owner)) continue
      for (const { holder, topicFilter, qos } of matcher.match(topic)) {
        // a filter that begins with a wildcard does not match $ topics [MQTT-4.7.2-1]
        if (isSys && !topicFilter.startsWith('$')) continue
        found.set(holder, Math.max(qos, found.get(holder) ?? 0))
      }
    }
    for (const { holder, qos } of this.#exact.get(topic) ?? []) {
      if (mayRead(holder.owner)) found.set(holder, Math.max(qos, found.get(holder) ?? 0))
    }
    return found
  }

  #addWild(held: IndexedSubscription<Each>): void {
    const { owner } = held.holder
    let known = this.#wild.get(owner)
    if (known === undefined) {
      known = { matcher: newMatcher(), size: 0 }
      this.#wild.set(owner, known)
    }
    known.size++
    known.matcher.add(held.topicFilter, held)
  }

  #deleteWild(held: IndexedSubscription<Each>): void {
    const { owner } = held.holder
    const known = this.#wild.get(owner)
    if (known === undefined) return
    known.size--
    known.matcher.remove(held.topicFilter, held)
    if (known.size === 0) this.#wild.delete(owner)
  }

  #count(owner: string, change: 1 | -1): void {
    this.#size += change
    const size = this.sizeOf(owner) + change
    if (size === 0) this.#sizes.delete(owner)
    else this.#sizes.set(owner, size)
  }
}

function newMatcher<Value>(): Qlobber<Value> {
  return new Qlobber<Value>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    // "a//b" has an empty level, which + matches [MQTT-4.7.1-3]
    match_empty_levels: true,
  })
}
