import { LOCK } from '#domain/commands.ts'
import type { Cart } from '../cart.ts'
import { type DeviceTypeLookup, definitionOf } from '../commands/request.ts'
import type { Device } from '../fleet.ts'

const LOCK_TYPE = 'teebox'

/** Returns a cart's lock device: a teebox, else one whose type can lock, preferably connected; undefined if none. */
export function lockDeviceOf(
  { devices }: Pick<Cart, 'devices'>,
  deviceTypes: Pick<DeviceTypeLookup, 'find'>,
  isSeen: (device: Device) => boolean = () => true,
): Device | undefined {
  const able = devices.filter(
    (device) => isSeen(device) && definitionOf(deviceTypes.find(device.row.deviceType), LOCK) !== undefined,
  )
  const locks = able.filter(({ row }) => row.deviceType === LOCK_TYPE)
  const candidates = locks.length > 0 ? locks : able
  return candidates.find(({ isOnline }) => isOnline) ?? candidates[0]
}
