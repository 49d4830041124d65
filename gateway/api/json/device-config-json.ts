import type { DeviceConfigs } from '#services/configuration/device-configs.ts'
import type { Device } from '#services/fleet.ts'
import { toIso } from '#shared/time.ts'
import type { DeviceConfigJson } from '#shared/wire/device-configs.ts'

/** Converts a device's configuration to JSON: its layers, and the versions last published to it and applied by it. */
export function toDeviceConfigJson(deviceConfigs: DeviceConfigs, device: Device): DeviceConfigJson {
  const { hardwareId, deviceType, groupId } = device.row
  const { type, group, device: own, resolved } = deviceConfigs.layersOf(device)
  const published = deviceConfigs.publishedTo(device)
  const applied = device.reported.state.applied.cfg
  return {
    hardware_id: hardwareId,
    device_type: deviceType,
    group_id: groupId,
    resolved,
    layers: { type, group, device: own },
    version: published?.version ?? null,
    published_at: published === undefined ? null : toIso(published.atMs),
    applied_version: applied?.version ?? null,
    applied_at: applied === undefined ? null : toIso(applied.atMs),
  }
}
