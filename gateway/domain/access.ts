import type { Role } from '#shared/wire/users.ts'

/** Caller, as far as access rules need it. */
export interface Caller {
  userId: string
  role: Role
  /** Null and empty both mean no device, `*` alone every device; irrelevant for an admin. */
  allowedHardwareIds: ReadonlySet<string> | null
  /** Setting of the user; see `canSeeCodes`. */
  masksCodes?: boolean
}

/** Source: spec 5, rules 5 and 6. */
export function canSee(caller: Caller, hardwareId: string): boolean {
  return seesAll(caller) || (caller.allowedHardwareIds?.has(hardwareId) ?? false)
}

/** Returns the devices to which a query is limited; undefined for all, now and later. */
export function visibleHardwareIds(caller: Caller): string[] | undefined {
  return seesAll(caller) ? undefined : [...(caller.allowedHardwareIds ?? [])]
}

function seesAll({ role, allowedHardwareIds }: Caller): boolean {
  return role === 'admin' || (allowedHardwareIds?.has('*') ?? false)
}

export function isAdmin(caller: Caller): boolean {
  return caller.role === 'admin'
}

/** True if the caller has staff rights, which admins also have. */
export function isStaff(caller: Caller): boolean {
  return caller.role !== 'user'
}

const RANKS: Readonly<Record<Role, number>> = { user: 0, staff: 1, admin: 2 }

/** Reduces an admin to staff with every device. */
export function withoutAdminRights(caller: Caller): Caller {
  return isAdmin(caller) ? { ...caller, role: 'staff', allowedHardwareIds: new Set(['*']) } : caller
}

/**
 * Returns the access of a PIN user on a shared tablet: the lower of the two roles, and the devices that both may see.
 * Actions are attributed to the PIN user.
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

/** True if the caller may see the codes of lock events unmasked. */
export function canSeeCodes(caller: Caller): boolean {
  return isStaff(caller) || caller.masksCodes !== true
}
