import type { Device } from '#services/fleet.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'

/** A device as every list and every answer about one shows it. */
export function toDeviceJson({ row, reported, isOnline }: Device): DeviceJson {
  return {
    short_id: row.shortId,
    hardware_id: row.hardwareId,
    device_type: row.deviceType,
    ...(row.name ? { name: row.name } : {}),
    cart: row.cart,
    attributes: reported.state.values,
    is_online: isOnline,
    group_id: row.groupId,
    enrolled_with_shared_key: row.isOnSharedKey,
    created_at: toIso(row.createdAtMs),
    updated_at: toIso(Math.max(row.updatedAtMs, reported.updatedAtMs)),
    ...(reported.lastRespondedAtMs === null ? {} : { last_responded_at: toIso(reported.lastRespondedAtMs) }),
  }
}

/** A device as it goes to the head office, which has always been sent `name: null` of one without a name. */
export function toDeviceStateJson(device: Device): Record<string, unknown> {
  const { short_id, hardware_id, device_type, ...rest } = toDeviceJson(device)
  return { short_id, hardware_id, device_type, name: device.row.name, ...rest }
}
