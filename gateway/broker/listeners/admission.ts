import { TokenBucket } from '#shared/budgets/token-bucket.ts'
import type { Part } from '#shared/lifecycle.ts'

/** A socket, as far as counting goes. */
interface Closable {
  destroy(): void
  once(event: 'close', listener: () => void): void
}

interface Holdable extends Closable {
  pause(): void
  on(event: 'error', listener: () => void): void
}

export interface ConnectionLimits {
  total: number
  perAddress: number
  /** Sustained failed logins of one address before it is slowed down; 0 is no limit. */
  failedLoginsPerSecond: number
}

export type AdmissionRefusal =
  | 'too_many_connections'
  | 'too_many_connections_of_address'
  | 'too_many_failed_logins'

/** Seconds of failed logins an address may have at once. */
const FAILED_LOGINS_BURST_S = 20
/** Connections a second that are still taken from an address past that: a good device may be behind the same router. */
const ON_PROBATION = { perSecond: 20, burst: 20 }
const MAX_ADDRESSES = 10_000
/** How long a connection that is turned away for its address's failed logins is left waiting, and how many at once. */
const HOLD_MS = 1_000
const HELD_MAX = 1_000

interface Address {
  open: number
  failedLogins: TokenBucket
  probation: TokenBucket
}

/**
 * The open sockets of all MQTT ports together: no more than so many, no more than so many from one address, and few from
 * an address that tries passwords. None of them outlives the broker.
 */
export class Connections implements Part {
  readonly #limits: ConnectionLimits
  readonly #open = new Set<Closable>()
  readonly #held = new Set<Closable>()
  readonly #addresses = new Map<string, Address>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** Takes a place until the socket is closed; tells why when there is none. */
  admit(socket: Closable, address: string): AdmissionRefusal | undefined {
    const known = this.#addressOf(address)
    if (this.#open.size >= this.#limits.total) return 'too_many_connections'
    if (known.open >= this.#limits.perAddress) return 'too_many_connections_of_address'
    if (known.failedLogins.waitMs() > 0 && !known.probation.take()) return 'too_many_failed_logins'
    known.open++
    this.#open.add(socket)
    socket.once('close', () => {
      known.open--
      this.#open.delete(socket)
    })
    return undefined
  }

  /**
   * Ends a connection that was not admitted. One of a guesser is left without an answer for a moment first: whoever
   * tries one password after the other tries fewer.
   */
  turnAway(socket: Holdable, refusal: AdmissionRefusal): void {
    if (refusal !== 'too_many_failed_logins' || this.#held.size >= HELD_MAX) {
      socket.destroy()
      return
    }
    this.#held.add(socket)
    const timer = setTimeout(() => socket.destroy(), HOLD_MS)
    socket.pause()
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      clearTimeout(timer)
      this.#held.delete(socket)
    })
  }

  loginFailed(address: string): void {
    this.#addressOf(address).failedLogins.take()
  }

  async start(): Promise<void> {
    // the listeners open what there is to close
  }

  /** Ends what the broker does not know: a socket that never said CONNECT would keep the process for ten seconds. */
  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    for (const socket of this.#held) socket.destroy()
  }

  #addressOf(address: string): Address {
    let known = this.#addresses.get(address)
    if (known === undefined) {
      if (this.#addresses.size >= MAX_ADDRESSES) this.#forgetIdle()
      const perSecond = this.#limits.failedLoginsPerSecond
      known = {
        open: 0,
        failedLogins: new TokenBucket({ perSecond, burst: FAILED_LOGINS_BURST_S * perSecond }),
        probation: new TokenBucket(ON_PROBATION),
      }
      this.#addresses.set(address, known)
    }
    return known
  }

  #forgetIdle(): void {
    for (const [address, { open, failedLogins }] of this.#addresses) {
      if (open === 0 && failedLogins.isFull()) this.#addresses.delete(address)
    }
  }
}
