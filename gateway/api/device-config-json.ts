import type { DeviceConfigs } from '#services/device-configs.ts'
import type { Device } from '#services/fleet.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceConfigJson } from '#shared/wire/device-configs.ts'

/** What a device is to be set to, why, and what it was told and has applied of it. */
export function toDeviceConfigJson(deviceConfigs: DeviceConfigs, device: Device): DeviceConfigJson {
  const { hardwareId, deviceType, groupId } = device.row
  const { type, group, device: own, resolved } = deviceConfigs.layersOf(device)
  const told = deviceConfigs.toldTo(device)
  const applied = device.reported.state.applied.cfg
  return {
    hardware_id: hardwareId,
    device_type: deviceType,
    group_id: groupId,
    resolved,
    layers: { type, group, device: own },
    version: told?.version ?? null,
    published_at: told === undefined ? null : toIso(told.atMs),
    applied_version: applied?.version ?? null,
    applied_at: applied === undefined ? null : toIso(applied.atMs),
  }
}
