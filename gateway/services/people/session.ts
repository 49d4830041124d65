import type { Caller } from '#domain/access.ts'
import type { SessionRow } from '#store/tables/sessions.ts'
import type { Moment } from './deadline.ts'

/** User signed in with a PIN on a shared tablet. */
export interface Acting {
  readonly userId: string
  /** End of the idle time; each action extends it. */
  until: Moment
  /** End of the admin rights that the PIN grants, by the monotonic clock. */
  readonly adminUntilMs: number
}

export interface Session {
  row: SessionRow
  /** True in the browser that sets up the gateway. */
  isSetUp: boolean
  acting: Acting | null
  /**
   * End of the admin rights that a session of an admin has because it is new; by the monotonic clock, so that a
   * corrected clock does not end them during the set-up. Null if the session is not new.
   */
  adminUntilMs: number | null
  /** Time of the last use, by the monotonic clock; null until it is used after a start. */
  usedAtMonotonicMs: number | null
  /** Time of the last cookie, by the monotonic clock; browsers also drop cookies after 400 days. */
  cookieSentAtMs: number | null
  /** True if that cookie is sent over TLS only. */
  isCookieSecure: boolean
  /** Access last announced to open responses and connections of the session. */
  announced: Caller | undefined
  /** Cached access, and the values from which it was derived. */
  known: { tablet: Caller; person: Caller | null; hasAdminRights: boolean; caller: Caller } | null
}
