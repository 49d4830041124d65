import { isoOrNull, toIso } from '#shared/time.ts'
import { type AlertKind, isSiteKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { type Caller, canSee, isAdmin, isStaff, visibleHardwareIds } from './access.ts'

/** Condition that staff should know of, from its beginning to its end. Each client has its own texts. */
export interface Alert {
  alertId: string
  kind: AlertKind
  /** Null, like `hardwareId`, for an alert of the site. */
  cart: string | null
  hardwareId: string | null
  openedAtMs: number
  closedAtMs: number | null
  acknowledgedAtMs: number | null
  acknowledgedBy: { userId: string; name: string } | null
  note: string | null
  /** Details by the names of the API. */
  details: Record<string, unknown>
}

export function toAlertJson(alert: Alert): AlertJson {
  const { acknowledgedBy } = alert
  return {
    alert_id: alert.alertId,
    kind: alert.kind,
    cart: alert.cart,
    hardware_id: alert.hardwareId,
    opened_at: toIso(alert.openedAtMs),
    closed_at: isoOrNull(alert.closedAtMs),
    acknowledged_at: isoOrNull(alert.acknowledgedAtMs),
    acknowledged_by: acknowledgedBy === null ? null : { user_id: acknowledgedBy.userId, name: acknowledgedBy.name },
    note: alert.note,
    details: alert.details,
  }
}

/** Returns the topic of the open alert of a kind and a cart; null is the site. */
export function alertTopic(kind: AlertKind, cart: string | null): string {
  return `alert/${kind}/${cart === null ? 'site' : encodeURIComponent(cart.toWellFormed())}`
}

/** True if a caller may see the site's alerts of this kind: staff see all but too many wrong PINs, which admins see. */
export function seesSiteKind(caller: Caller, kind: string): boolean {
  return kind === 'pin_locked' ? isAdmin(caller) : isStaff(caller)
}

/** True if a caller may see an alert: `hardwareIds` are its cart's current devices; if none, its own device decides. */
export function canSeeAlert(
  caller: Caller,
  { kind, hardwareId }: Pick<Alert, 'kind' | 'hardwareId'>,
  hardwareIds: readonly string[],
): boolean {
  if (isSiteKind(kind)) return seesSiteKind(caller, kind)
  if (visibleHardwareIds(caller) === undefined) return true
  return hardwareIds.some((id) => canSee(caller, id)) || (hardwareId !== null && canSee(caller, hardwareId))
}
