import type { Caller } from '#domain/access.ts'
import type { SessionRow } from '#store/tables/sessions.ts'
import type { Moment } from './deadline.ts'

/** A person who acts on a shared tablet. */
export interface Acting {
  readonly userId: string
  /** Idle until then, it is over; moved by what is done. */
  until: Moment
  /** Until then, by the monotonic clock, the PIN stands for the rights of an admin. */
  readonly adminUntilMs: number
}

/** A browser that is signed in, in memory. */
export interface Session {
  row: SessionRow
  acting: Acting | null
  /**
   * Until then, by the monotonic clock, a session of an admin has the rights of one because it is new: a clock that is
   * put right while somebody sets the gateway up takes nothing away. Null for one that is not.
   */
  adminUntilMs: number | null
  /** By the monotonic clock; null until it is used in this run. */
  usedAtMonotonicMs: number | null
  /** When its browser was last sent the cookie, which it forgets after 400 days, too. */
  cookieSentAtMs: number | null
  /** Whether that cookie goes over TLS only. */
  isCookieSecure: boolean
  /** What all that is open for it was told that it may do. */
  told: Caller | undefined
  /** What it may do, and what that follows from. */
  known: { tablet: Caller; person: Caller | null; hasAdminRights: boolean; caller: Caller } | null
}
