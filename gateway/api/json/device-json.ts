import type { Device } from '#services/fleet.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'

/** Converts a device to the JSON of every list and of every response about one device. */
export function toDeviceJson({ row, reported, isOnline }: Device): DeviceJson {
  const firmware = reported.state.status?.fw
  return {
    short_id: row.shortId,
    hardware_id: row.hardwareId,
    device_type: row.deviceType,
    ...(row.name ? { name: row.name } : {}),
    cart: row.cart,
    attributes: reported.state.values,
    is_online: isOnline,
    ...(typeof firmware === 'string' ? { firmware } : {}),
    group_id: row.groupId,
    enrolled_with_shared_key: row.isOnSharedKey,
    created_at: toIso(row.createdAtMs),
    updated_at: toIso(Math.max(row.updatedAtMs, reported.updatedAtMs)),
    ...(reported.lastRespondedAtMs === null ? {} : { last_responded_at: toIso(reported.lastRespondedAtMs) }),
  }
}

/** Converts a device to the JSON for the hub, which has always received `name: null` for a device without a name. */
export function toDeviceStateJson(device: Device): Record<string, unknown> {
  const { short_id, hardware_id, device_type, ...rest } = toDeviceJson(device)
  return { short_id, hardware_id, device_type, name: device.row.name, ...rest }
}
