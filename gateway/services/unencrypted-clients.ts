import type { Clock } from '#shared/time.ts'
import type { Login } from './people/login.ts'

/** Who came over HTTP without TLS, and when last. */
export interface UnencryptedUse {
  /** With the cookie of a session, the key of a user, or as a device that downloads zones. */
  kind: 'session' | 'user' | 'device'
  /** session_id, user_id or hardware_id. */
  id: string
  address: string
  lastMs: number
}

/** Whoever has not come for longest goes first: more than there are browsers, programs and devices at a course. */
const KEPT = 1_000

/** Who still uses plain HTTP since the start, for whoever wants to close it. In memory: those who use it come again. */
export class UnencryptedClients {
  /** Those who came last are at the end. */
  readonly #uses = new Map<string, UnencryptedUse>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  noteLogin({ session, row }: Pick<Login, 'session' | 'row'>, address: string): void {
    if (session === null) this.#note('user', row.userId, address)
    else this.#note('session', session.row.sessionId, address)
  }

  noteDevice(hardwareId: string, address: string): void {
    this.#note('device', hardwareId, address)
  }

  /** Newest first. */
  all(): UnencryptedUse[] {
    return [...this.#uses.values()].toReversed()
  }

  #note(kind: UnencryptedUse['kind'], id: string, address: string): void {
    const key = `${kind} ${id}`
    this.#uses.delete(key)
    this.#uses.set(key, { kind, id, address, lastMs: this.#clock.nowMs() })
    if (this.#uses.size <= KEPT) return
    const [oldest] = this.#uses.keys()
    if (oldest !== undefined) this.#uses.delete(oldest)
  }
}
