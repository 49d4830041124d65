/** Memory use of one connection: bytes of queued requests and of an unsent response. */
export interface WaitingConnection {
  /** Budget key of the connection. */
  readonly owner: string
  /** Closes the connection and frees its memory. */
  cut(): void
}

export interface WaitingLimits {
  /** Bytes per budget key. */
  readonly perOwner: number
  /** Bytes over all budget keys. */
  readonly total: number
}

interface Owned {
  bytes: number
  readonly connections: Map<WaitingConnection, number>
}

/**
 * Bytes in memory for slow readers. Past a key's limit, its fullest connection is closed; past the total, that of the
 * key with most: a client that reads is never closed for others. A single response is sent whatever its size.
 */
export class WaitingBytes {
  readonly #limits: WaitingLimits
  readonly #onCut: () => void
  readonly #byOwner = new Map<string, Owned>()
  #total = 0

  constructor(limits: WaitingLimits, onCut: () => void) {
    this.#limits = limits
    this.#onCut = onCut
  }

  /** Sets the bytes of a connection; 0 if it keeps none or is closed. */
  set(connection: WaitingConnection, bytes: number): void {
    const owned = this.#change(connection, bytes)
    while (owned.bytes > this.#limits.perOwner && owned.connections.size > 1) this.#cutFullest(owned)
    while (this.#total > this.#limits.total) {
      const most = [...this.#byOwner.values()].reduce((one, other) => (other.bytes > one.bytes ? other : one))
      if (this.#byOwner.size === 1 && most.connections.size === 1) return
      this.#cutFullest(most)
    }
  }

  get total(): number {
    return this.#total
  }

  #change(connection: WaitingConnection, bytes: number): Owned {
    const { owner } = connection
    const owned = this.#byOwner.get(owner) ?? { bytes: 0, connections: new Map() }
    const delta = bytes - (owned.connections.get(connection) ?? 0)
    owned.bytes += delta
    this.#total += delta
    if (bytes === 0) owned.connections.delete(connection)
    else owned.connections.set(connection, bytes)
    if (owned.connections.size === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, owned)
    return owned
  }

  #cutFullest({ connections }: Owned): void {
    const [fullest] = [...connections].reduce((one, other) => (other[1] > one[1] ? other : one))
    this.#change(fullest, 0)
    this.#onCut()
    fullest.cut()
  }
}
