import { isoOrNull, toIso } from '#shared/time.ts'
import { type AlertKind, isSiteKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'
import { type Caller, canSee, isAdmin, isStaff, visibleHardwareIds } from './access.ts'

/** Something that people should know of, from when it began until it is over. Texts are each client's own. */
export interface Alert {
  alertId: string
  kind: AlertKind
  /** Null, like `hardwareId`, where it is about the site. */
  cart: string | null
  hardwareId: string | null
  openedAtMs: number
  closedAtMs: number | null
  acknowledgedAtMs: number | null
  acknowledgedBy: { userId: string; name: string } | null
  note: string | null
  /** What it is about, by the names of the API. */
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

/** Where programs find the alert of a kind and a cart that is not closed; null is the site. */
export function alertTopic(kind: AlertKind, cart: string | null): string {
  return `alert/${kind}/${cart === null ? 'site' : encodeURIComponent(cart.toWellFormed())}`
}

/**
 * Which alerts of the site a caller is told of: staff and admins of all, but only admins that a person gave too many
 * wrong PINs.
 */
export function seesSiteKind(caller: Caller, kind: string): boolean {
  return kind === 'pin_locked' ? isAdmin(caller) : isStaff(caller)
}

/**
 * Who may see an alert: `hardwareIds` are the devices of its cart now; one that has none is seen by who saw its device.
 */
export function canSeeAlert(
  caller: Caller,
  { kind, hardwareId }: Pick<Alert, 'kind' | 'hardwareId'>,
  hardwareIds: readonly string[],
): boolean {
  if (isSiteKind(kind)) return seesSiteKind(caller, kind)
  if (visibleHardwareIds(caller) === undefined) return true
  return hardwareIds.some((id) => canSee(caller, id)) || (hardwareId !== null && canSee(caller, hardwareId))
}
