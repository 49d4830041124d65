import type { StoredMessage } from '#domain/mqtt-sessions.ts'
import { hasWildcard, matchesTopic } from '#domain/mqtt-topics.ts'

export interface RetainedLimits {
  messages: number
  bytes: number
}

/** Last retained message of each topic. */
export class RetainedMessages {
  readonly #limits: RetainedLimits
  readonly #isLimited: (topic: string) => boolean
  /** Messages in the order of their last change. */
  readonly #byTopic = new Map<string, StoredMessage>()
  /** Messages that count towards the limits, in the same order. */
  readonly #limited = new Map<string, StoredMessage>()
  #limitedBytes = 0
  #bytes = 0

  /** Topics that are not `isLimited` are never dropped: their number is bounded by the permissions to publish. */
  constructor(limits: RetainedLimits, isLimited: (topic: string) => boolean) {
    this.#limits = limits
    this.#isLimited = isLimited
  }

  get size(): number {
    return this.#byTopic.size
  }

  get byteCount(): number {
    return this.#bytes
  }

  /** Replaces a topic's message; an empty payload deletes it [MQTT-3.3.1-10]. Returns dropped topics, oldest first. */
  set(message: StoredMessage): string[] {
    const { topic, payload } = message
    this.delete(topic)
    if (payload.length === 0) return []
    this.#byTopic.set(topic, message)
    this.#bytes += payload.length
    if (!this.#isLimited(topic)) return []
    this.#limited.set(topic, message)
    this.#limitedBytes += payload.length
    return this.#makeRoom()
  }

  delete(topic: string): void {
    this.#bytes -= this.#byTopic.get(topic)?.payload.length ?? 0
    this.#limitedBytes -= this.#limited.get(topic)?.payload.length ?? 0
    this.#limited.delete(topic)
    this.#byTopic.delete(topic)
  }

  deleteBelow(prefix: string): void {
    for (const topic of this.#byTopic.keys()) if (topic.startsWith(prefix)) this.delete(topic)
  }

  /** Yields every message that matches one of the filters, each once. */
  *matching(filters: readonly string[]): Generator<StoredMessage> {
    const exact = new Set(filters.filter((filter) => !hasWildcard(filter)))
    const wild = filters.filter(hasWildcard)
    for (const topic of exact) {
      const message = this.#byTopic.get(topic)
      if (message !== undefined) yield message
    }
    if (wild.length === 0) return
    for (const [topic, message] of this.#byTopic) {
      if (!exact.has(topic) && wild.some((filter) => matchesTopic(filter, topic))) yield message
    }
  }

  #makeRoom(): string[] {
    const dropped: string[] = []
    for (const topic of this.#limited.keys()) {
      if (this.#limited.size <= this.#limits.messages && this.#limitedBytes <= this.#limits.bytes) break
      dropped.push(topic)
      this.delete(topic)
    }
    return dropped
  }
}
