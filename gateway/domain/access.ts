import type { Role } from '#shared/wire/users.ts'

/** Who is asking, as far as the rules need to know. */
export interface Caller {
  userId: string
  role: Role
  /** Null and empty both mean no device, `*` alone every device; irrelevant for an admin. */
  allowedHardwareIds: ReadonlySet<string> | null
  /** As it was set; see `canSeeCodes`. */
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

/** Whether the caller may do what staff may; an admin may, too. */
export function isStaff(caller: Caller): boolean {
  return caller.role !== 'user'
}

const RANKS: Readonly<Record<Role, number>> = { user: 0, staff: 1, admin: 2 }

/** The same without what only an admin may: staff with every device. */
export function withoutAdminRights(caller: Caller): Caller {
  return isAdmin(caller) ? { ...caller, role: 'staff', allowedHardwareIds: new Set(['*']) } : caller
}

/**
 * A person who acts on a shared tablet: the lower of the two roles, and the devices that both see. What is done is the
 * person's doing.
 */
export function pinUserAccess(tablet: Caller, person: Caller): Caller {
  return {
    userId: person.userId,
    role: RANKS[tablet.role] < RANKS[person.role] ? tablet.role : person.role,
    allowedHardwareIds: seenByBoth(tablet, person),
    masksCodes: !canSeeCodes(tablet) || !canSeeCodes(person),
  }
}

function seenByBoth(one: Caller, other: Caller): ReadonlySet<string> {
  if (seesAll(one)) return seesAll(other) ? new Set(['*']) : (other.allowedHardwareIds ?? new Set())
  return new Set([...(one.allowedHardwareIds ?? [])].filter((hardwareId) => canSee(other, hardwareId)))
}

/** Whether the caller is shown codes of lock events as they are. */
export function canSeeCodes(caller: Caller): boolean {
  return isStaff(caller) || caller.masksCodes !== true
}
