import { isAdmin } from '#domain/access.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { ForbiddenError } from '#shared/errors.ts'
import type { Store } from '#store/store.ts'
import type { Users } from '../users.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

interface SetUpDeps {
  store: Pick<Store, 'write'>
  users: Pick<Users, 'rotateKey'>
  sessions: Pick<Sessions, 'all' | 'callerOf' | 'end'>
}

/**
 * Set-up of a new gateway: the browser that signed in with the setup code creates the admin's own key. Keys are stored
 * as hashes: a lost one cannot be shown again; until its first use, that browser, and no other, may create another.
 */
export class SetUp {
  readonly #deps: SetUpDeps
  readonly #making = new SerialQueue()

  constructor(deps: SetUpDeps) {
    this.#deps = deps
  }

  async begin(session: Session): Promise<void> {
    const { store, sessions } = this.#deps
    await store.write('keepSetupSession', { sessionId: session.row.sessionId })
    for (const one of sessions.all()) one.isSetUp = one === session
  }

  /** Ends the session that created the key, once the user has the key. */
  async endOf(userId: string): Promise<void> {
    const { sessions } = this.#deps
    const session = sessions.all().find((one) => one.row.userId === userId && one.isSetUp)
    if (session !== undefined) await sessions.end(session.row.sessionId)
  }

  /** Creates a new key of the session's user and revokes the one before. Throws `admin_required`. */
  makeKey(session: Session): Promise<string> {
    return this.#making.take(() => {
      const { users, sessions } = this.#deps
      const { userId, sessionId } = session.row
      const caller = sessions.callerOf(session)
      if (!session.isSetUp || caller === undefined || !isAdmin(caller))
        throw new ForbiddenError('admin_required', 'only the browser that sets up the gateway can create its key')
      return users.rotateKey(userId, { keptSessionId: sessionId })
    })
  }
}
