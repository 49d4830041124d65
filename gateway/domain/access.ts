import type { Role } from '#shared/wire/users.ts'

/** Who is asking, as far as the rules need to know. */
export interface Caller {
  userId: string
  role: Role
  /** Null and empty both mean no device; irrelevant for an admin. */
  allowedHardwareIds: ReadonlySet<string> | null
}

/** Source: spec 5, rules 5 and 6. */
export function canSee(caller: Caller, hardwareId: string): boolean {
  return caller.role === 'admin' || (caller.allowedHardwareIds?.has(hardwareId) ?? false)
}

export function isAdmin(caller: Caller): boolean {
  return caller.role === 'admin'
}
