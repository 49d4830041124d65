import { signal } from '@preact/signals-core'
import { ApiError } from '#shared/client.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import type { Role, UserRole } from '#shared/wire/users.ts'
import type { Preferences } from './preferences.ts'

const RANK: Record<UserRole, number> = { metrics: -1, user: 0, staff: 1, admin: 2 }

/** Whether one role may do what another may. */
export function isAtLeast(role: UserRole, needed: Role): boolean {
  return RANK[role] >= RANK[needed]
}

/** Why somebody is asked who it is: nobody did anything for a while, or what was asked for needs more rights. */
export interface PersonQuestion {
  reason: 'idle' | 'rights'
  /** Whoever answers must have it. */
  role: Role
}

/** Somebody was asked who it is, and did not say: what was to be done was not. */
export class PinCancelled extends Error {
  constructor() {
    super('nobody said who it is')
    this.name = 'PinCancelled'
  }
}

interface PersonGateDeps {
  me: () => MeJson | null
  /** By the gateway's clock. */
  nowMs: () => number
  preferences: Preferences
  /** Asks the gateway who acts now. */
  refresh: () => Promise<void>
}

interface Asked {
  question: PersonQuestion
  answered: Promise<void>
  resolve: () => void
  reject: (error: Error) => void
}

/**
 * Asks who acts before what is done. A tablet on which nobody gave a PIN acts as itself; one on which somebody did asks
 * again after ten idle minutes, and so does one whose rights have ended. The rules themselves are the gateway's.
 */
export class PersonGate {
  readonly #deps: PersonGateDeps
  readonly #asked = signal<Asked | null>(null)

  constructor(deps: PersonGateDeps) {
    this.#deps = deps
  }

  /** What is asked now; read it in a component, and answer with `done` or `cancel`. */
  get question(): PersonQuestion | null {
    return this.#asked.value?.question ?? null
  }

  /**
   * Does it, after asking for a PIN where one is needed. Throws `PinCancelled`, and what `action` throws.
   */
  async act<Result>(action: () => Promise<Result>): Promise<Result> {
    if (await this.#isIdle()) await this.ask({ reason: 'idle', role: 'user' })
    try {
      return await action()
    } catch (error) {
      const role = neededRole(error)
      if (role === null || !this.#mayHelp(role)) throw error
      await this.ask({ reason: 'rights', role })
      return await action()
    }
  }

  /** Asks at once. Throws `PinCancelled`. */
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

  /** Somebody has said who it is, or that the tablet acts as itself. */
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

  /** Whether somebody acted here, and did nothing for so long that the gateway has forgotten it. */
  async #isIdle(): Promise<boolean> {
    const { preferences, nowMs, me, refresh } = this.#deps
    if (preferences.personId.value === null) return false
    const until = me()?.session?.person?.until
    if (until !== undefined && nowMs() < Date.parse(until)) return false
    // what was done meanwhile has moved its end
    await refresh()
    return me()?.session?.person == null
  }

  /** The rights of a person never go beyond those of the tablet. */
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
