/**
 * What one connection keeps in memory: bytes of requests that wait for their turn, and of a response that was not sent.
 */
export interface WaitingConnection {
  /** Whose connection it is, as limits count. */
  readonly owner: string
  /** Closes it, and frees what it keeps. */
  cut(): void
}

export interface WaitingLimits {
  /** Bytes of one owner. */
  readonly perOwner: number
  /** Bytes of all owners. */
  readonly total: number
}

interface Owned {
  bytes: number
  readonly connections: Map<WaitingConnection, number>
}

/**
 * Bytes that wait in memory for slow readers. Past a limit the fullest connection of the owner is cut, past the limit
 * of all that of the owner who keeps most: who reads what it asked for is never cut for others. A response that waits
 * alone is sent whatever its size.
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

  /** Sets how many bytes a connection keeps; 0 when it keeps none or is closed. */
  set(connection: WaitingConnection, bytes: number): void {
    const owned = this.#change(connection, bytes)
    while (owned.bytes > this.#limits.perOwner && owned.connections.size > 1) this.#cutFullest(owned)
    while (this.#total > this.#limits.total) {
      const most = [...this.#byOwner.values()].reduce((one, other) => (other.bytes > one.bytes ? other : one))
      if (this.#byOwner.size === 1 && most.connections.size === 1) return
      this.#cutFullest(most)
    }
  }

  /** Bytes of all connections. */
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
