import type { Events } from '#gateway/events.ts'
import { FairTurns } from '#shared/budgets/fair-turns.ts'
import { Counter } from '#shared/counter.ts'
import { ForbiddenError, RateLimitedError } from '#shared/errors.ts'
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

/** How long a person may do nothing. */
const IDLE_MS = 10 * MINUTE_MS
/** PINs of a tablet for one person that wait to be compared. */
const WAITING_MAX = 5

/** People on shared tablets: who proves by a PIN that it is they, for how long, and how often a PIN may be wrong. */
export class Persons {
  /** PINs that were given, by what came of it. */
  readonly tries = new Counter(['right', 'wrong', 'locked'])
  readonly #deps: PersonsDeps
  readonly #hasher = new PinHasher()
  readonly #locks: PinLocks
  /** By person: one PIN is compared after the other, so that each wrong one counts before the next is looked at. */
  readonly #turns = new Map<string, FairTurns>()

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

  /** Takes up how often PINs were wrong before the start: a power cut forgives nothing. */
  load(): void {
    const { store, users } = this.#deps
    for (const { userId, ...tries } of store.read.pinTries())
      if (users.find(userId) !== undefined) this.#locks.restore(userId, tries)
  }

  /** Null removes it; who acts by the old one does so no more. Throws `user_not_found`. */
  async setPin(userId: string, pin: string | null): Promise<void> {
    await this.#deps.users.setPin(userId, pin === null ? null : await this.#hasher.hash(userId, pin))
  }

  /** Throws `wrong_pin`, `pin_locked` and `rate_limited` unless it is the PIN of the user; a wrong one counts. */
  async requirePin(session: Session, userId: string, pin: string): Promise<void> {
    const pinHash = this.#deps.users.find(userId)?.row.pinHash
    if (pinHash == null || !(await this.#isPin(session, userId, pin, pinHash))) throw this.#wrong()
  }

  /** Has a person act on a session. Throws `wrong_pin`, `pin_locked` and `rate_limited`. */
  async begin(session: Session, userId: string, pin: string): Promise<void> {
    const { users, sessions, store, clock } = this.#deps
    const before = users.find(userId)?.row
    // /people tells who has a PIN: there is nothing to hide by taking as long
    if (before?.pinHash == null || !before.isActive) throw this.#wrong()
    const { pinHash } = before
    const isRight = await this.#isPin(session, userId, pin, pinHash)
    const now = users.find(userId)?.row
    const isStill = now?.pinHash === pinHash && now.isActive && sessions.callerOf(session) !== undefined
    if (!isRight || !isStill) throw this.#wrong()
    const adminUntilMs = clock.monotonicMs() + ADMIN_RIGHTS_MS
    const acting = { userId, until: momentIn(clock, IDLE_MS), adminUntilMs }
    await store.write('recordAuditOnly', { action: 'person.created', target: userId, after: { name: now.name } })
    // what happened while it was written down counts
    const later = users.find(userId)?.row
    if (later?.pinHash !== pinHash || !later.isActive) throw this.#wrong()
    session.acting = acting
    sessions.changed(session)
  }

  /** Nobody but the session's user acts on it any more. */
  async end(session: Session): Promise<void> {
    const { acting } = session
    if (acting === null) return
    session.acting = null
    this.#deps.sessions.changed(session)
    await this.#deps.store.write('recordAuditOnly', { action: 'person.deleted', target: acting.userId, after: null })
  }

  /** Something was done: the time without anything begins anew, unless it is over. */
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
    // on the disk before anybody knows that it was wrong
    await this.#keepTries(userId)
    if (lockedMs > 0) await this.#tellOfLock(userId, lockedMs)
    return false
  }

  async #keepTries(userId: string): Promise<void> {
    await this.#deps.store.write('savePinTries', { userId, ...this.#locks.triesOf(userId) })
  }

  #requireUnlocked(userId: string, sessionId: string): void {
    const waitMs = this.#locks.waitMs(userId, sessionId)
    if (waitMs === 0) return
    this.tries.add('locked')
    const retryAfterS = Math.ceil(waitMs / 1000)
    throw new RateLimitedError('too many wrong PINs: wait, and then try again', retryAfterS, 'pin_locked')
  }

  async #tellOfLock(userId: string, lockedMs: number): Promise<void> {
    const { events, clock, log, store } = this.#deps
    const untilMs = clock.nowMs() + lockedMs
    log.warn({ userId, untilMs }, 'locked a person on all tablets: too many wrong PINs')
    events.emit('pinLocked', { userId, untilMs })
    const after = { until_ms: untilMs }
    await store.write('recordAuditOnly', { action: 'pin.locked', target: userId, after }).catch(() => undefined)
  }

  #turnsOf(userId: string): FairTurns {
    const turns = this.#turns.get(userId) ?? new FairTurns(WAITING_MAX)
    this.#turns.set(userId, turns)
    return turns
  }

  #wrong(): ForbiddenError {
    return new ForbiddenError('wrong_pin', 'the PIN is wrong, or this person has none')
  }
}
