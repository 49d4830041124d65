import type { DeviceType } from '#devices/device-type.ts'
import type { Downlink } from '#domain/downlink.ts'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Fleet } from '../fleet.ts'
import type { Users } from '../users.ts'
import { ZonesApplied } from '../zones/applied.ts'
import { GeofenceTokens } from '../zones/geofence-tokens.ts'
import { Geofences } from '../zones/geofences.ts'
import { ZoneMessages } from '../zones/messages.ts'
import { ZoneSets } from '../zones/sets.ts'
import { Zones } from '../zones/zones.ts'
import { DeviceConfigs } from './device-configs.ts'
import { DeviceTypes } from './device-types.ts'
import { Groups } from './groups.ts'
import { ConfigLayers } from './layers.ts'
import { ConfigPublisher } from './publisher.ts'

interface ConfigurationDeps {
  store: Store
  fleet: Fleet
  users: Pick<Users, 'callerOf'>
  downlink: Downlink
  events: Events
  clock: GatewayClock
  log: Log
  builtInTypes: readonly DeviceType[]
}

/** Builds the components that decide and publish device configuration: groups, their zones, configuration layers. */
export function createConfiguration({ builtInTypes, ...deps }: ConfigurationDeps) {
  const zoneParts = { sets: new ZoneSets(), messages: new ZoneMessages(), turns: new SerialQueue() }
  const geofences = new Geofences({ ...deps, ...zoneParts, isGroup: (groupId) => groups.has(groupId) })
  const layers = new ConfigLayers()
  const publisher = new ConfigPublisher({ ...deps, layers })
  const groups = new Groups({ ...deps, geofences, layers, publisher })
  const zones = new Zones({ ...deps, ...zoneParts, groups })
  const deviceTypes = new DeviceTypes({ ...deps, builtIn: builtInTypes, layers, publisher })
  return {
    geofences,
    groups,
    zones,
    deviceTypes,
    layers,
    publisher,
    zonesApplied: new ZonesApplied({ ...zoneParts, groups }),
    geofenceTokens: new GeofenceTokens({ ...deps, geofences }),
    deviceConfigs: new DeviceConfigs({ ...deps, groups, deviceTypes, layers, publisher }),
  }
}
