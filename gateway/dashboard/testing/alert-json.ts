import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

const AT = '2026-05-01T12:00:00.000Z'

/** Creates an open alert, with `others` replaced. */
export function alertJson(kind: AlertKind, cart: string | null, others: Partial<AlertJson> = {}): AlertJson {
  return {
    alert_id: `${kind}-${cart}`,
    kind,
    cart,
    hardware_id: cart === null ? null : `tb-${cart}`,
    opened_at: AT,
    closed_at: null,
    acknowledged_at: null,
    acknowledged_by: null,
    note: null,
    details: {},
    ...others,
  }
}
