import type { Events } from '#gateway/events.ts'
import { FairTurns } from '#shared/budgets/fair-turns.ts'
import { Counter } from '#shared/counter.ts'
import { describeError, ForbiddenError, RateLimitedError, UnavailableError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { Users } from '../users.ts'
import { type BothClocks, isPast, momentIn } from './deadline.ts'
import { PinHasher } from './pin-hash.ts'
import { PinLocks } from './pin-locks.ts'
import type { Session } from './session.ts'
import { ADMIN_RIGHTS_MS, type Sessions } from './sessions.ts'

interface PersonsDeps {
  store: Pick<Store, 'read' | 'write'>
  users: Pick<Users, 'find' | 'setPin'>
  sessions: Sessions
  events: Events
  clock: BothClocks
  log: Log
}

/** Idle time after which a PIN user is signed out. */
const IDLE_MS = 10 * MINUTE_MS
/** Limit of PINs from one tablet for one user that wait to be compared. */
const WAITING_MAX = 5
/** Interval at which the age of wrong PINs and the rest of locks are stored; a power cut loses no more. */
const FLUSH_MS = MINUTE_MS

/** PIN users on shared tablets: checks their PINs, limits wrong ones, and ends their sign-in when they are idle. */
export class Persons implements Component {
  /** PINs checked, by result. */
  readonly tries = new Counter(['right', 'wrong', 'locked'])
  readonly #deps: PersonsDeps
  readonly #hasher = new PinHasher()
  readonly #locks: PinLocks
  /** Queues by user: PINs are compared one after the other, so that a wrong one counts before the next is checked. */
  readonly #turns = new Map<string, FairTurns>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: PersonsDeps) {
    this.#deps = deps
    this.#locks = new PinLocks(deps.clock)
    deps.events.on('sessionEnded', ({ sessionId }) => this.#locks.forgetSession(sessionId))
    deps.events.on('keyRevoked', ({ userId }) => {
      if (deps.users.find(userId) !== undefined) return
      this.#locks.forgetUser(userId)
      this.#turns.delete(userId)
      void this.#keepTries(userId).catch(() => undefined)
    })
  }

  /** Restores the counts of wrong PINs, so that a power cut does not reset them, and announces the locks again. */
  load(): void {
    const { store, users, events } = this.#deps
    for (const { userId, ...tries } of store.read.pinTries()) {
      if (users.find(userId) === undefined) continue
      this.#locks.restore(userId, tries)
      // its alert may be missing, and ends with the lock, which lasts longer by the time without the gateway
      if (tries.lockedMs > 0) events.emit('pinLocked', { userId, lockedMs: tries.lockedMs })
    }
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.#flush(), FLUSH_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#flush()
  }

  /** Sets a PIN; null removes it. A user signed in with the old PIN is signed out. Throws `user_not_found`. */
  async setPin(userId: string, pin: string | null): Promise<void> {
    await this.#deps.users.setPin(userId, pin === null ? null : await this.#hasher.hash(userId, pin))
  }

  /** Throws `wrong_pin`, `pin_locked` and `rate_limited` unless it is the PIN of the user; counts a wrong one. */
  async requirePin(session: Session, userId: string, pin: string): Promise<void> {
    const pinHash = this.#deps.users.find(userId)?.row.pinHash
    if (pinHash == null || !(await this.#isPin(session, userId, pin, pinHash))) throw this.#wrong()
  }

  /** Signs a user in on a session with a PIN. Throws `wrong_pin`, `pin_locked` and `rate_limited`. */
  async begin(session: Session, userId: string, pin: string): Promise<void> {
    const { users, sessions, store, clock } = this.#deps
    const before = users.find(userId)?.row
    // a quick rejection reveals nothing: /people shows who has a PIN
    if (before?.pinHash == null || !before.isActive) throw this.#wrong()
    const { pinHash } = before
    const isRight = await this.#isPin(session, userId, pin, pinHash)
    const now = users.find(userId)?.row
    const isStill = now?.pinHash === pinHash && now.isActive && sessions.callerOf(session) !== undefined
    if (!isRight || !isStill) throw this.#wrong()
    const adminUntilMs = clock.monotonicMs() + ADMIN_RIGHTS_MS
    const acting = { userId, until: momentIn(clock, IDLE_MS), adminUntilMs }
    await store.write('recordAuditOnly', { action: 'person.created', target: userId, after: { name: now.name } })
    // checks again, because the user may have changed during the write
    const later = users.find(userId)?.row
    if (later?.pinHash !== pinHash || !later.isActive) throw this.#wrong()
    session.acting = acting
    sessions.changed(session)
  }

  async end(session: Session): Promise<void> {
    const { acting } = session
    if (acting === null) return
    session.acting = null
    this.#deps.sessions.changed(session)
    await this.#deps.store.write('recordAuditOnly', { action: 'person.deleted', target: acting.userId, after: null })
  }

  /** Restarts the idle time of the PIN user, unless it is over. */
  acted({ acting }: Session): void {
    const { clock } = this.#deps
    if (acting !== null && !isPast(clock, acting.until)) acting.until = momentIn(clock, IDLE_MS)
  }

  #isPin(session: Session, userId: string, pin: string, pinHash: string): Promise<boolean> {
    return this.#turnsOf(userId).take(session.row.sessionId, () => this.#compare(session, userId, pin, pinHash))
  }

  async #compare(session: Session, userId: string, pin: string, pinHash: string): Promise<boolean> {
    const { sessionId } = session.row
    this.#requireUnlocked(userId, sessionId)
    if (await this.#hasher.matches(userId, pin, pinHash)) {
      this.#locks.right(userId, sessionId)
      this.tries.add('right')
      return true
    }
    this.tries.add('wrong')
    const lockedMs = this.#locks.wrong(userId, sessionId)
    // stored before the client learns that the PIN was wrong
    await this.#keepTries(userId)
    if (lockedMs > 0) await this.#announceLock(userId, lockedMs)
    return false
  }

  /** Stores the elapsed time of all counts and locks; a failed write is repeated with the next one. */
  async #flush(): Promise<void> {
    try {
      for (const userId of this.#locks.users()) {
        const { wrongAgoMs, lockedMs } = this.#locks.triesOf(userId)
        if (wrongAgoMs.length === 0 && lockedMs === 0) this.#locks.forgetTries(userId)
        await this.#keepTries(userId)
      }
    } catch (error) {
      if (!(error instanceof UnavailableError))
        this.#deps.log.warn({ reason: describeError(error) }, 'storing the wrong PINs failed; will retry')
    }
  }

  async #keepTries(userId: string): Promise<void> {
    await this.#deps.store.write('savePinTries', { userId, ...this.#locks.triesOf(userId) })
  }

  #requireUnlocked(userId: string, sessionId: string): void {
    const waitMs = this.#locks.waitMs(userId, sessionId)
    if (waitMs === 0) return
    this.tries.add('locked')
    const retryAfterS = Math.ceil(waitMs / 1000)
    throw new RateLimitedError('too many wrong PINs; wait, then try again', retryAfterS, 'pin_locked')
  }

  async #announceLock(userId: string, lockedMs: number): Promise<void> {
    const { events, clock, log, store } = this.#deps
    const untilMs = clock.nowMs() + lockedMs
    log.warn({ userId, untilMs }, 'locked a PIN user on all tablets: too many wrong PINs')
    events.emit('pinLocked', { userId, lockedMs })
    const after = { until_ms: untilMs }
    await store.write('recordAuditOnly', { action: 'pin.locked', target: userId, after }).catch(() => undefined)
  }

  #turnsOf(userId: string): FairTurns {
    const turns = this.#turns.get(userId) ?? new FairTurns(WAITING_MAX)
    this.#turns.set(userId, turns)
    return turns
  }

  #wrong(): ForbiddenError {
    return new ForbiddenError('wrong_pin', 'the PIN is wrong, or this user has none')
  }
}
