import { randomBytes } from 'node:crypto'
import { type Caller, pinUserAccess, withoutAdminRights } from '#domain/access.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { Counter } from '#shared/counter.ts'
import { describeError, NotFoundError, UnavailableError } from '#shared/errors.ts'
import { hashSecret, newUuid } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { DAY_MS, MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { SessionRow } from '#store/tables/sessions.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Users } from '../users.ts'
import { isPast } from './deadline.ts'
import type { Session } from './session.ts'

interface SessionsDeps {
  store: Pick<Store, 'read' | 'write'>
  users: Pick<Users, 'callerOf' | 'require' | 'has' | 'isKeyUsed'>
  events: Events
  clock: Pick<GatewayClock, 'nowMs' | 'monotonicMs' | 'doubt'>
  log: Log
}

/** Lifetime of an unused session. */
export const SESSION_MS = 400 * DAY_MS
/** Duration of admin rights after a session was created, or after a PIN. */
export const ADMIN_RIGHTS_MS = 10 * MINUTE_MS
const OF_USER_MAX = 100
const CHECK_MS = 1_000
const FLUSH_MS = MINUTE_MS

/**
 * Sessions of signed-in browsers: creates them, resolves cookies, derives access, and ends them. All are in memory, so
 * that a request needs no disk access; times of use are stored every minute. Everything open for a session follows the
 * events `sessionEnded` and `sessionChanged`.
 */
export class Sessions implements Component {
  /** Sessions that ended, by reason. */
  readonly ended = new Counter()
  readonly #deps: SessionsDeps
  readonly #byId = new Map<string, Session>()
  readonly #byHash = new Map<string, Session>()
  readonly #used = new Set<Session>()
  /** Creates sessions one after the other, so that the number of sessions of a user is known. */
  readonly #making = new SerialQueue()
  #checkTimer: NodeJS.Timeout | undefined
  #flushTimer: NodeJS.Timeout | undefined

  constructor(deps: SessionsDeps) {
    this.#deps = deps
    deps.events.on('keyRevoked', ({ userId, keptSessionId }) => this.#userRevoked(userId, keptSessionId))
    deps.events.on('pinChanged', ({ userId }) => this.#endActingOf(userId))
    deps.events.on('scopeChanged', ({ userId }) => this.#userChanged(userId))
  }

  async start(): Promise<void> {
    const { store, clock } = this.#deps
    const setUpId = store.read.setupSessionId()
    for (const row of store.read.sessions()) {
      const sinceMs = clock.nowMs() - row.createdAtMs
      // a creation time in the future comes from a wrong clock: the age is unknown
      const isNew = sinceMs >= 0 && sinceMs < ADMIN_RIGHTS_MS
      this.#keep(row, isNew ? ADMIN_RIGHTS_MS - sinceMs : null).isSetUp = row.sessionId === setUpId
    }
    this.#checkTimer = setInterval(() => this.check(), CHECK_MS)
    this.#flushTimer = setInterval(() => void this.#flush(), FLUSH_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#checkTimer)
    clearInterval(this.#flushTimer)
    await this.#flush()
  }

  get size(): number {
    return this.#byId.size
  }

  get actingCount(): number {
    return [...this.#byId.values()].filter(({ acting }) => acting !== null).length
  }

  /** Returns the sessions in the order of their creation. */
  all(): Session[] {
    return [...this.#byId.values()].sort(byCreation)
  }

  /** Throws `session_not_found`. */
  require(sessionId: string): Session {
    const session = this.#byId.get(sessionId)
    if (session !== undefined) return session
    throw new NotFoundError('session_not_found', `there is no session ${sessionId}`)
  }

  /** Creates a user's session; returns it with the content of its cookie. Throws `user_not_found`, `user_inactive`. */
  create(userId: string, name: string): Promise<{ session: Session; token: string }> {
    return this.#making.take(async () => {
      const { store, clock } = this.#deps
      const token = randomBytes(32).toString('base64url')
      const nowMs = clock.nowMs()
      const tokenHash = hashSecret(token)
      const row = { sessionId: newUuid(), userId, name, tokenHash, createdAtMs: nowMs, lastUsedAtMs: nowMs }
      const before = this.all().filter((one) => one.row.userId === userId)
      const endedIds = before
        .sort((a, b) => a.row.lastUsedAtMs - b.row.lastUsedAtMs)
        .slice(0, Math.max(0, before.length - OF_USER_MAX + 1))
        .map((one) => one.row.sessionId)
      await store.write('createSession', { row, endedIds })
      for (const sessionId of endedIds) this.#drop(sessionId, 'too_many')
      const session = this.#keep(row, ADMIN_RIGHTS_MS)
      // the user was disabled during the write, which deleted the row
      if (this.callerOf(session) === undefined) this.#drop(row.sessionId, 'revoked')
      return { session, token }
    })
  }

  /** Returns the session of a cookie; undefined if the cookie is unknown or the session has ended. */
  find(token: string): Session | undefined {
    const session = this.#byHash.get(hashSecret(token))
    if (session === undefined) return undefined
    if (this.#isExpired(session)) {
      this.#expire(session)
      return undefined
    }
    return this.callerOf(session) === undefined ? undefined : session
  }

  /** Records a use, which restarts the 400 days. */
  used(session: Session): void {
    const { clock } = this.#deps
    session.row.lastUsedAtMs = clock.nowMs()
    session.usedAtMonotonicMs = clock.monotonicMs()
    this.#used.add(session)
  }

  /**
   * True if the response must set the cookie again: once a day and after each start, or the browser would drop it. A
   * cookie sent over HTTP is sent again on the first request over TLS, and is restricted to TLS from then on.
   */
  isCookieDue(session: Session, isSecure: boolean): boolean {
    const nowMs = this.#deps.clock.monotonicMs()
    const isFresh = session.cookieSentAtMs !== null && nowMs - session.cookieSentAtMs < DAY_MS
    if (isFresh && (session.isCookieSecure || !isSecure)) return false
    session.cookieSentAtMs = nowMs
    session.isCookieSecure = isSecure
    return true
  }

  /** Returns the current access of a session, including its PIN user; undefined once it has ended. */
  callerOf(session: Session): Caller | undefined {
    const { users, clock } = this.#deps
    const { row, acting, known } = session
    const tablet = users.callerOf(row.userId)
    if (tablet === undefined || this.#byId.get(row.sessionId) !== session) return undefined
    const isActing = acting !== null && !isPast(clock, acting.until)
    const person = isActing ? (users.callerOf(acting.userId) ?? null) : null
    const nowMs = clock.monotonicMs()
    const isPinOfAdmin = isActing && person?.role === 'admin' && nowMs < acting.adminUntilMs
    const isNew = session.adminUntilMs !== null && nowMs < session.adminUntilMs
    // it may create the admin's key, so it is not limited either
    const isSettingUp = session.isSetUp && !users.isKeyUsed(users.require(row.userId).keyHash)
    const hasAdminRights = isNew || isPinOfAdmin || isSettingUp
    if (known?.tablet === tablet && known.person === person && known.hasAdminRights === hasAdminRights)
      return known.caller
    const lowered = hasAdminRights ? tablet : withoutAdminRights(tablet)
    const caller = person === null ? lowered : pinUserAccess(lowered, person)
    session.known = { tablet, person, hasAdminRights, caller }
    return caller
  }

  /** Ends a session and everything open for it. Throws `session_not_found`. */
  async end(sessionId: string): Promise<void> {
    this.require(sessionId)
    await this.#deps.store.write('endSessions', { sessionIds: [sessionId] })
    this.#drop(sessionId, 'ended')
  }

  /** Announces changed access to everything open for a session. */
  changed(session: Session): void {
    session.announced = this.callerOf(session)
    this.#deps.events.emit('sessionChanged', { sessionId: session.row.sessionId })
  }

  /** Ends expired sessions, admin rights, and sign-ins of idle PIN users. */
  check(): void {
    for (const session of this.#byId.values()) {
      const { acting } = session
      if (this.#isExpired(session)) {
        this.#expire(session)
        continue
      }
      if (acting !== null && isPast(this.#deps.clock, acting.until)) session.acting = null
      if (this.callerOf(session) !== session.announced) this.changed(session)
    }
  }

  #keep(row: SessionRow, adminMs: number | null): Session {
    const session: Session = {
      row,
      isSetUp: false,
      acting: null,
      adminUntilMs: adminMs === null ? null : this.#deps.clock.monotonicMs() + adminMs,
      usedAtMonotonicMs: null,
      cookieSentAtMs: null,
      isCookieSecure: false,
      announced: undefined,
      known: null,
    }
    this.#byId.set(row.sessionId, session)
    this.#byHash.set(row.tokenHash, session)
    session.announced = this.callerOf(session)
    return session
  }

  #drop(sessionId: string, reason: string): void {
    const session = this.#byId.get(sessionId)
    if (session === undefined) return
    this.#byId.delete(sessionId)
    this.#byHash.delete(session.row.tokenHash)
    this.#used.delete(session)
    this.ended.add(reason)
    this.#deps.events.emit('sessionEnded', { sessionId })
  }

  /**
   * True if the session was unused for too long. A session used since the start is measured by the monotonic clock: if
   * a clock that was years behind at sign-in is corrected, or is in doubt, no session ends.
   */
  #isExpired({ row, usedAtMonotonicMs }: Session): boolean {
    const { clock } = this.#deps
    if (usedAtMonotonicMs !== null) return clock.monotonicMs() - usedAtMonotonicMs >= SESSION_MS
    return clock.nowMs() - row.lastUsedAtMs >= SESSION_MS && clock.doubt === null
  }

  #expire({ row: { sessionId } }: Session): void {
    this.#drop(sessionId, 'expired')
    this.#deps.store.write('endSessions', { sessionIds: [sessionId] }).catch(() => undefined)
  }

  /** Drops the sessions of a user; their rows were deleted in the transaction that revoked the key. */
  #userRevoked(userId: string, keptSessionId?: string): void {
    for (const { row } of this.all())
      if (row.userId === userId && row.sessionId !== keptSessionId) this.#drop(row.sessionId, 'revoked')
    if (this.#deps.users.callerOf(userId) === undefined) this.#endActingOf(userId)
  }

  #endActingOf(userId: string): void {
    for (const session of this.#byId.values()) {
      if (session.acting?.userId !== userId) continue
      session.acting = null
      this.changed(session)
    }
  }

  #userChanged(userId: string): void {
    for (const session of this.#byId.values())
      if (session.row.userId === userId || session.acting?.userId === userId) this.changed(session)
  }

  /** Stores times of use; a failed write is repeated with the next one. */
  async #flush(): Promise<void> {
    if (this.#used.size === 0) return
    const used = [...this.#used]
    this.#used.clear()
    try {
      const uses = used.map(({ row }) => ({ sessionId: row.sessionId, lastUsedAtMs: row.lastUsedAtMs }))
      await this.#deps.store.write('recordSessionUse', uses)
    } catch (error) {
      for (const session of used) if (this.#byId.get(session.row.sessionId) === session) this.#used.add(session)
      if (!(error instanceof UnavailableError))
        this.#deps.log.warn({ reason: describeError(error) }, 'storing the use of sessions failed; will retry')
    }
  }
}

function byCreation(a: Session, b: Session): number {
  return a.row.createdAtMs - b.row.createdAtMs || (a.row.sessionId < b.row.sessionId ? -1 : 1)
}
