import type { Origin } from '#domain/origin.ts'
import { AppError, UnauthenticatedError } from '#shared/errors.ts'
import type { AuditContext } from '../audit-context.ts'
import type { AccessRequests } from './access-requests.ts'
import type { KeyGuard } from './key-guard.ts'
import type { Login } from './login.ts'
import type { Pairing, PairingCodes } from './pairing-codes.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'
import type { SetUp } from './set-up.ts'

interface SignInDeps {
  sessions: Sessions
  setUp: SetUp
  pairingCodes: PairingCodes
  accessRequests: AccessRequests
  firstAdminKey: SetupCode
  keyGuard: KeyGuard
  origins: Pick<AuditContext, 'run'>
}

/** Single-use code of a first start, and the user it signs in. */
export interface SetupCode {
  takeSetupCode(code: string): Pairing | undefined
}

/** Credential with which a browser signs in. */
export type SignInCredential =
  | { code: string }
  | { apiKey: string; name: string }
  | { requestId: string; secret: string }

/** New session, and the content of its cookie. */
export interface SignedIn {
  session: Session
  token: string
  login: Login
}

/** Creates sessions from codes, keys, and requests that an admin has allowed. */
export class SignIn {
  readonly #deps: SignInDeps

  constructor(deps: SignInDeps) {
    this.#deps = deps
  }

  /** Throws `invalid_code`, `invalid_api_key`, `user_inactive`, `not_allowed_yet` and `rate_limited`. */
  async begin(proof: SignInCredential, address: string): Promise<SignedIn> {
    const { sessions, setUp, keyGuard, origins } = this.#deps
    const { userId, name, isSetUp = false } = this.#read(proof, address)
    const origin: Origin = { userId, address, person: null, sessionId: null }
    const made = await origins.run(origin, () => sessions.create(userId, name)).catch(refuseGone)
    if (isSetUp) await setUp.begin(made.session)
    else if ('apiKey' in proof) await origins.run(origin, () => setUp.endOf(userId))
    return { ...made, login: keyGuard.admitSession(made.token) }
  }

  #read(proof: SignInCredential, address: string): Pairing {
    const { keyGuard, accessRequests } = this.#deps
    if ('apiKey' in proof) {
      const { row } = keyGuard.admit(proof.apiKey, address)
      return { userId: row.userId, name: proof.name }
    }
    return keyGuard.redeem(address, () =>
      'code' in proof ? this.#readCode(proof.code) : accessRequests.take(proof.requestId, proof.secret),
    )
  }

  #readCode(code: string): Pairing {
    const { pairingCodes, firstAdminKey } = this.#deps
    const pairing = pairingCodes.take(code) ?? firstAdminKey.takeSetupCode(code)
    if (pairing !== undefined) return pairing
    throw new UnauthenticatedError('invalid_code', 'this code is wrong, expired or already used')
  }
}

/** Rejects a credential whose user was disabled or deleted while its session was stored. */
function refuseGone(error: unknown): never {
  const isGone = error instanceof AppError && ['user_not_found', 'user_inactive'].includes(error.code)
  if (isGone) throw new UnauthenticatedError('invalid_code', 'the user of this code is disabled or deleted')
  throw error
}
