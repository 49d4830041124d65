import type { Events } from '#gateway/events.ts'
import type { Rates } from '#shared/budgets/rates.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { AuditContext } from '../audit-context.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Users } from '../users.ts'
import { AccessRequests } from './access-requests.ts'
import { KeyGuard } from './key-guard.ts'
import { OpenResponses } from './open-responses.ts'
import { PairingCodes } from './pairing-codes.ts'
import { Persons } from './persons.ts'
import { Sessions } from './sessions.ts'
import { SetUp } from './set-up.ts'
import { type SetupCode, SignIn } from './sign-in.ts'

interface PeopleDeps {
  store: Pick<Store, 'read' | 'write'>
  users: Users
  firstAdminKey: SetupCode
  failedKeys: Rates
  failedCodesOfAddress: Rates
  failedCodes: Rates
  requests: Rates
  origins: AuditContext
  events: Events
  clock: GatewayClock
  log: Log
}

/**
 * Builds sign-in and access control: a browser signs in (`SignIn`) with a code (`PairingCodes`), a key, or a request
 * that an admin has allowed (`AccessRequests`); `Sessions` derives its access from the cookie; `Persons` keeps the PIN
 * user of a shared tablet; `KeyGuard` checks all of them. Open responses and connections follow events of lost access.
 */
export function createPeople(deps: PeopleDeps) {
  const sessions = new Sessions(deps)
  const setUp = new SetUp({ ...deps, sessions })
  const keyGuard = new KeyGuard({ ...deps, sessions })
  const pairingCodes = new PairingCodes(deps)
  const accessRequests = new AccessRequests(deps)
  return {
    sessions,
    setUp,
    keyGuard,
    pairingCodes,
    accessRequests,
    persons: new Persons({ ...deps, sessions }),
    signIn: new SignIn({ ...deps, sessions, setUp, keyGuard, pairingCodes, accessRequests }),
    // after the sessions, because it asks them which logins are still valid
    openAnswers: new OpenResponses(deps.events),
  }
}
