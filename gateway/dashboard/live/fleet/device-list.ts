import type { DeviceJson } from '#shared/wire/devices.ts'

/** True if the typed text is in one of the names of a device. */
export function isDeviceFound({ hardware_id, name, cart, short_id }: DeviceJson, typed: string): boolean {
  const wanted = typed.trim().toLowerCase()
  return [hardware_id, name ?? '', cart ?? '', short_id].some((text) => text.toLowerCase().includes(wanted))
}

/** Returns the reported state of the lock; null for a device without one. */
export function lockOf({ attributes }: Pick<DeviceJson, 'attributes'>): boolean | null {
  const status = attributes.lock_status
  return status === undefined ? null : status === true || status === 1
}
