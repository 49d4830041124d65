import { signal } from '@preact/signals-core'
import { ApiError } from '#shared/client.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import type { Role, UserRole } from '#shared/wire/users.ts'
import type { Preferences } from './preferences.ts'

const RANK: Record<UserRole, number> = { metrics: -1, user: 0, staff: 1, admin: 2 }

/** True if a role includes the rights of another. */
export function isAtLeast(role: UserRole, needed: Role): boolean {
  return RANK[role] >= RANK[needed]
}

/** True for 4 to 6 digits. */
export function isPin(text: string): boolean {
  return /^[0-9]{4,6}$/.test(text)
}

/**
 * Reason of a PIN prompt: the first action of the day on a shared tablet, an idle PIN user, or an action that needs
 * more rights.
 */
export interface PersonQuestion {
  reason: 'first' | 'idle' | 'rights'
  /** Minimum role of the user who responds. */
  role: Role
}

/** Thrown when a PIN prompt is cancelled; the action was not run. */
export class PinCancelled extends Error {
  constructor() {
    super('the PIN prompt was cancelled')
    this.name = 'PinCancelled'
  }
}

interface PersonGateDeps {
  me: () => MeJson | null
  /** Time of the gateway's clock. */
  nowMs: () => number
  preferences: Preferences
  /** Requests the current PIN user from the gateway. */
  refresh: () => Promise<void>
  /** Day on the clocks of the course. */
  day: () => string
  /** Requests from the gateway if a user has a PIN. */
  havePins: () => Promise<boolean>
}

interface Asked {
  question: PersonQuestion
  answered: Promise<void>
  resolve: () => void
  reject: (error: Error) => void
}

/** Period for which "no user has a PIN" is trusted. */
const NO_PINS_MS = 60_000

/**
 * Prompts for a PIN before an action. A shared tablet without a PIN user prompts once a day, and may then act as
 * itself. A tablet with one prompts again after ten idle minutes, and so does one whose rights have expired. The
 * gateway enforces the rules.
 */
export class PersonGate {
  readonly #deps: PersonGateDeps
  readonly #asked = signal<Asked | null>(null)
  #noPinsUntilMs = 0

  constructor(deps: PersonGateDeps) {
    this.#deps = deps
  }

  /** Current prompt; read it in a component, and respond with `done` or `cancel`. */
  get question(): PersonQuestion | null {
    return this.#asked.value?.question ?? null
  }

  /** Runs `action`, after a PIN prompt if one is needed. Throws `PinCancelled`, and the errors of `action`. */
  async act<Result>(action: () => Promise<Result>): Promise<Result> {
    const reason = (await this.#isIdle()) ? 'idle' : (await this.#isFirst()) ? 'first' : null
    if (reason !== null) await this.ask({ reason, role: 'user' })
    try {
      return await action()
    } catch (error) {
      const role = neededRole(error)
      if (role === null || !this.#mayHelp(role)) throw error
      await this.ask({ reason: 'rights', role })
      return await action()
    }
  }

  /** Prompts immediately. Throws `PinCancelled`. */
  ask(question: PersonQuestion): Promise<void> {
    const open = this.#asked.value
    if (open !== null && isAtLeast(open.question.role, question.role)) return open.answered
    open?.reject(new PinCancelled())
    let answer: Pick<Asked, 'resolve' | 'reject'> | undefined
    const answered = new Promise<void>((resolve, reject) => {
      answer = { resolve, reject }
    })
    if (answer !== undefined) this.#asked.value = { question, answered, ...answer }
    return answered
  }

  /** Closes the prompt after a PIN was accepted, or the tablet continues as itself. */
  done(): void {
    const asked = this.#asked.value
    this.#asked.value = null
    asked?.resolve()
  }

  cancel(): void {
    const asked = this.#asked.value
    this.#asked.value = null
    asked?.reject(new PinCancelled())
  }

  /** Resolves to true if the PIN user was idle for so long that the gateway has signed them out. */
  async #isIdle(): Promise<boolean> {
    const { preferences, nowMs, me, refresh } = this.#deps
    if (preferences.personId.value === null) return false
    const until = me()?.session?.person?.until
    if (until !== undefined && nowMs() < Date.parse(until)) return false
    // activity meanwhile has moved the end
    await refresh()
    return me()?.session?.person == null
  }

  /** The tablet continues as itself, for the rest of the day. */
  asTablet(): void {
    this.#deps.preferences.rememberTabletDay(this.#deps.day())
    this.done()
  }

  /** Resolves to true on a shared tablet, whose user has its name, if it has no PIN user and could have one. */
  async #isFirst(): Promise<boolean> {
    const { preferences, nowMs, me, day, havePins } = this.#deps
    const known = me()
    if (known?.session == null || known.session.person !== null || known.session.name !== known.user.name) return false
    if (preferences.tabletDay === day() || nowMs() < this.#noPinsUntilMs) return false
    const isFirst = await havePins()
    if (!isFirst) this.#noPinsUntilMs = nowMs() + NO_PINS_MS
    return isFirst
  }

  /** A PIN never grants more rights than the tablet has. */
  #mayHelp(role: Role): boolean {
    const me = this.#deps.me()
    return me?.session != null && isAtLeast(me.user.role, role)
  }
}

function neededRole(error: unknown): Role | null {
  if (!(error instanceof ApiError) || error.status !== 403) return null
  if (error.code === 'admin_required') return 'admin'
  return error.code === 'staff_required' ? 'staff' : null
}
