interface Queue {
  readonly messageCount: number
  readonly byteCount: number
}

interface Share<Each extends Queue> {
  messages: number
  bytes: number
  /** Queues that are not empty. */
  readonly queues: Set<Each>
}

/** Totals of the queues of all clients, and each owner's share. */
export class QueueShares<Each extends Queue> {
  messages = 0
  bytes = 0
  readonly #byOwner = new Map<string, Share<Each>>()

  added(owner: string, queue: Each, bytes: number): void {
    let share = this.#byOwner.get(owner)
    if (share === undefined) {
      share = { messages: 0, bytes: 0, queues: new Set() }
      this.#byOwner.set(owner, share)
    }
    share.queues.add(queue)
    this.#count(share, 1, bytes)
  }

  /** Counts a message removed from a queue; `messageCount` of the queue must be up to date. */
  removed(owner: string, queue: Each, bytes: number): void {
    const share = this.#byOwner.get(owner)
    if (share === undefined) return
    this.#count(share, -1, -bytes)
    if (queue.messageCount === 0) share.queues.delete(queue)
    if (share.messages === 0) this.#byOwner.delete(owner)
  }

  /** Returns the fullest queue of the owner with most: the queue to drop from when all are full together. */
  fullest(measure: 'messages' | 'bytes'): Each | undefined {
    let largest: Share<Each> | undefined
    for (const share of this.#byOwner.values()) {
      if (largest === undefined || share[measure] > largest[measure]) largest = share
    }
    const sizeOf = (queue: Each) => (measure === 'messages' ? queue.messageCount : queue.byteCount)
    let fullest: Each | undefined
    for (const queue of largest?.queues ?? []) {
      if (fullest === undefined || sizeOf(queue) > sizeOf(fullest)) fullest = queue
    }
    return fullest
  }

  #count(share: Share<Each>, messages: number, bytes: number): void {
    share.messages += messages
    share.bytes += bytes
    this.messages += messages
    this.bytes += bytes
  }
}
