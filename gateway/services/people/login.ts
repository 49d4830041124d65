import type { Caller } from '#domain/access.ts'
import type { Origin } from '#domain/origin.ts'
import { ConflictError, UnauthenticatedError } from '#shared/errors.ts'
import type { UserRow } from '#store/tables/users.ts'
import type { User, Users } from '../users.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/** Authenticated client, by a key or a session cookie. */
export interface Login {
  /** User of the key or of the session, regardless of a PIN user. */
  readonly row: UserRow
  readonly caller: Caller
  /** Budget key of the limits: a user, or `session:ID`. */
  readonly owner: string
  readonly session: Session | null
  /** Returns the current access; undefined once the key or the session has become invalid. */
  callerNow(): Caller | undefined
}

export function sessionOwner(sessionId: string): string {
  return `session:${sessionId}`
}

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

/** Signed-in browser, possibly with a PIN user. */
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
 * Returns the current access of a login. Throws `invalid_api_key` or `invalid_session` if it has lost access,
 * `person_changed` if its user differs from that of `before`.
 */
export function requireStillIn(login: Login, before = login.caller): Caller {
  const caller = login.callerNow()
  if (caller === undefined)
    throw login.session === null
      ? new UnauthenticatedError('invalid_api_key', 'the key was revoked during the request')
      : new UnauthenticatedError('invalid_session', 'the session ended during the request; sign in again')
  if (caller.userId === before.userId) return caller
  throw new ConflictError('person_changed', 'another PIN user has signed in on this tablet since the request was sent')
}

/** Returns the origin that the audit log records for the actions of a login; `nameOf` finds the name of a user. */
export function originOf(
  { row, session, caller }: Pick<Login, 'row' | 'session' | 'caller'>,
  address: string,
  nameOf: (userId: string) => string,
): Origin {
  const { userId } = caller
  // a PIN user whose idle time is over may remain set until the next check
  const isPerson = session?.acting?.userId === userId
  return {
    userId: row.userId,
    address,
    person: isPerson ? { userId, name: nameOf(userId) } : null,
    sessionId: session?.row.sessionId ?? null,
  }
}
