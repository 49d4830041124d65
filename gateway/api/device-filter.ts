import type { Device } from '#services/fleet.ts'
import { attributeFilters, deviceSearch, isBatteryBelow, matchesAttributes } from '#shared/device-filter.ts'
import type { DeviceListQuery } from '#shared/wire/devices.ts'

/** Finds the devices that a query asks for, whoever asks. Throws `invalid_attribute_name`. */
export function deviceFilter(query: DeviceListQuery): (device: Device) => boolean {
  const { hardware_ids, device_type, cart, group_id, battery_below, search = '', ...rest } = query
  const {
    is_online,
    enrolled_with_shared_key,
    order: _order,
    format: _format,
    limit: _limit,
    offset: _offset,
    ...others
  } = rest
  const wanted = hardware_ids === undefined ? undefined : new Set(hardware_ids)
  const isFound = deviceSearch(search)
  const attributes = attributeFilters(others)
  return ({ row, reported, isOnline }) =>
    (wanted?.has(row.hardwareId) ?? true) &&
    isOrAny(device_type, row.deviceType) &&
    isOrAny(cart, row.cart) &&
    isOrAny(group_id, row.groupId) &&
    isOrAny(is_online, String(isOnline)) &&
    isOrAny(enrolled_with_shared_key, String(row.isOnSharedKey)) &&
    (battery_below === undefined || isBatteryBelow(reported.state.values, battery_below)) &&
    isFound(row) &&
    matchesAttributes(reported.state.values, attributes)
}

/** Whether a value is the one asked for, or none is asked for. */
function isOrAny<Value>(wanted: Value | undefined, value: Value | null): boolean {
  return wanted === undefined || value === wanted
}
