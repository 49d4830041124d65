import type { Role } from '#shared/wire/users.ts'

/** Who is asking, as far as the rules need to know. */
export interface Caller {
  userId: string
  role: Role
  /** Null and empty both mean no device, `*` alone every device; irrelevant for an admin. */
  allowedHardwareIds: ReadonlySet<string> | null
  /** As it was set; see `seesCodes`. */
  masksCodes?: boolean
}

/** Source: spec 5, rules 5 and 6. */
export function canSee(caller: Caller, hardwareId: string): boolean {
  return seesAll(caller) || (caller.allowedHardwareIds?.has(hardwareId) ?? false)
}

/** The devices a query is held to; undefined for all, now and later. */
export function visibleHardwareIds(caller: Caller): string[] | undefined {
  return seesAll(caller) ? undefined : [...(caller.allowedHardwareIds ?? [])]
}

function seesAll({ role, allowedHardwareIds }: Caller): boolean {
  return role === 'admin' || (allowedHardwareIds?.has('*') ?? false)
}

export function isAdmin(caller: Caller): boolean {
  return caller.role === 'admin'
}

/** Whether the caller is shown codes of lock events as they are. */
export function seesCodes(caller: Caller): boolean {
  return isAdmin(caller) || caller.masksCodes !== true
}
