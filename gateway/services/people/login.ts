import type { Caller } from '#domain/access.ts'
import type { Origin } from '#domain/origin.ts'
import { ConflictError, UnauthenticatedError } from '#shared/errors.ts'
import type { UserRow } from '#store/tables/users.ts'
import type { User, Users } from '../users.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/** Who was let in, with a key or with the cookie of a session. */
export interface Login {
  /** The user of the key or of the session, whoever acts on it. */
  readonly row: UserRow
  /** What it might do when it came. */
  readonly caller: Caller
  /** Whose limits count: a user, or `session:ID`. */
  readonly owner: string
  readonly session: Session | null
  /** What it may do now; undefined once the key or the session is void. */
  callerNow(): Caller | undefined
}

/** Whom the limits of a session count for. */
export function sessionOwner(sessionId: string): string {
  return `session:${sessionId}`
}

/** Somebody with an API key. */
export class KeyLogin implements Login {
  readonly session = null
  readonly row: UserRow
  readonly caller: Caller
  readonly owner: string
  readonly #users: Pick<Users, 'callerOfKey'>
  readonly #user: User

  constructor(users: Pick<Users, 'callerOfKey'>, user: User) {
    this.row = user.row
    this.caller = user.caller
    this.owner = user.row.userId
    this.#users = users
    this.#user = user
  }

  callerNow(): Caller | undefined {
    return this.#users.callerOfKey(this.#user)
  }
}

/** A browser that is signed in, perhaps with a person who acts on it. */
export class SessionLogin implements Login {
  readonly row: UserRow
  readonly caller: Caller
  readonly owner: string
  readonly session: Session
  readonly #sessions: Pick<Sessions, 'callerOf'>

  constructor(sessions: Pick<Sessions, 'callerOf'>, session: Session, row: UserRow, caller: Caller) {
    this.row = row
    this.caller = caller
    this.owner = sessionOwner(session.row.sessionId)
    this.session = session
    this.#sessions = sessions
  }

  callerNow(): Caller | undefined {
    return this.#sessions.callerOf(this.session)
  }
}

/**
 * What a login may do now. Throws `invalid_api_key` or `invalid_session` when it is not let in any more,
 * `person_changed` when another acts than `before`.
 */
export function requireStillIn(login: Login, before = login.caller): Caller {
  const caller = login.callerNow()
  if (caller === undefined)
    throw login.session === null
      ? new UnauthenticatedError('invalid_api_key', 'the key was revoked while the request was under way')
      : new UnauthenticatedError('invalid_session', 'the session ended while the request was under way')
  if (caller.userId === before.userId) return caller
  throw new ConflictError('person_changed', 'another person acts on this tablet since the request was made')
}

/** Whom the audit log names for what a login does; `nameOf` finds the name of a user. */
export function originOf(
  { row, session, caller }: Pick<Login, 'row' | 'session' | 'caller'>,
  address: string,
  nameOf: (userId: string) => string,
): Origin {
  const { userId } = caller
  // who was idle for too long may still be there for a moment
  const isPerson = session?.acting?.userId === userId
  return {
    userId: row.userId,
    address,
    person: isPerson ? { userId, name: nameOf(userId) } : null,
    sessionId: session?.row.sessionId ?? null,
  }
}
