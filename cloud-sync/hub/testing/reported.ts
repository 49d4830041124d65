import type { AlertBody } from '#shared/wire/replication/sync.ts'

const AT = '2026-05-01T08:30:00.000Z'

/** Returns a device as its gateway reports it. */
export function reportedDevice(hardwareId: string, fields: object = {}) {
  return {
    hardware_id: hardwareId,
    short_id: `s-${hardwareId}`,
    device_type: 'teebox',
    name: null,
    cart: null,
    attributes: {},
    is_online: true,
    group_id: null,
    created_at: AT,
    updated_at: AT,
    ...fields,
  }
}

/** Returns an alert as its gateway reports it: open, of cart 17. */
export function reportedAlert(alertId: string, fields: Partial<AlertBody> = {}): AlertBody {
  return {
    alert_id: alertId,
    kind: 'outside',
    cart: '17',
    hardware_id: 'lock-17',
    opened_at_ms: 1,
    closed_at_ms: null,
    acknowledged_at_ms: null,
    acknowledged_by: null,
    note: null,
    details: {},
    ...fields,
  }
}

/** Returns a lock event as its gateway sends it. */
export function sentLockEvent(seq: number, fields: object = {}): Record<string, unknown> {
  return {
    seq,
    event_id: `event-${seq}`,
    hardware_id: 'cart-1',
    event: 'lock',
    source: 'key',
    at_ms: Date.UTC(2026, 4, 1, 12) + seq,
    code: null,
    command_id: null,
    metadata: null,
    ...fields,
  }
}
