import type { Caller } from '#domain/access.ts'
import type { Login } from '#services/people/login.ts'

/** Returns the login of a key whose access never changes. */
export function loginOf(caller: Caller): Login {
  const { userId, role } = caller
  const row = {
    userId,
    name: 'Test',
    email: null,
    role,
    isActive: true,
    allowedHardwareIds: null,
    masksCodes: false,
    keyHash: '',
    pinHash: null,
    createdAtMs: 0,
    updatedAtMs: 0,
    usage: { totalRequests: 0, requestsToday: 0, lastResetMs: 0, firstUsedAtMs: null, lastUsedAtMs: null },
  }
  return { row, caller, owner: userId, session: null, callerNow: () => caller }
}
