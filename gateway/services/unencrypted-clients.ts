import type { Clock } from '#shared/time.ts'
import type { Fleet } from './fleet.ts'
import type { Login } from './people/login.ts'
import type { Sessions } from './people/sessions.ts'
import type { Users } from './users.ts'

/** Client that used HTTP without TLS, and its last use. */
export interface UnencryptedUse {
  /** Credential of the client: a session cookie, the key of a user, or a token of a device that downloads zones. */
  kind: 'session' | 'user' | 'device'
  /** The session_id, user_id or hardware_id. */
  id: string
  address: string
  lastMs: number
}

/** Sources of the names of clients. */
export interface UseNames {
  sessions: Pick<Sessions, 'all'>
  users: Pick<Users, 'find'>
  fleet: Pick<Fleet, 'find'>
}

/** Name of a client; null if it has none. */
export function nameOfUse({ kind, id }: Pick<UnencryptedUse, 'kind' | 'id'>, deps: UseNames): string | null {
  const { sessions, users, fleet } = deps
  const names = {
    session: () => sessions.all().find(({ row }) => row.sessionId === id)?.row.name,
    user: () => users.find(id)?.row.name,
    device: () => fleet.find(id)?.row.name,
  }
  return names[kind]() ?? null
}

/** Limit, above the number of clients of a course; the client unused for longest is dropped first. */
const KEPT = 1_000

/** Clients that used plain HTTP since the start, for an admin who wants to close it. In memory: they come again. */
export class UnencryptedClients {
  /** Sorted by last use, oldest first. */
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

  /** Returns the clients, newest first. */
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
