import type { Users } from '#services/users.ts'
import { toIso } from '#shared/time.ts'
import type { UserJson } from '#shared/wire/users.ts'

export function toUserJson(row: ReturnType<Users['require']>): UserJson {
  const { usage } = row
  return {
    user_id: row.userId,
    name: row.name,
    ...(row.email === null ? {} : { email: row.email }),
    role: row.role,
    is_active: row.isActive,
    allowed_hardware_ids: row.allowedHardwareIds,
    mask_codes: row.masksCodes,
    has_pin: row.pinHash !== null,
    created_at: toIso(row.createdAtMs),
    updated_at: toIso(row.updatedAtMs),
    usage: {
      total_requests: usage.totalRequests,
      requests_today: usage.requestsToday,
      last_reset: toIso(usage.lastResetMs),
      ...(usage.firstUsedAtMs === null ? {} : { first_used_at: toIso(usage.firstUsedAtMs) }),
      ...(usage.lastUsedAtMs === null ? {} : { last_used_at: toIso(usage.lastUsedAtMs) }),
    },
  }
}
