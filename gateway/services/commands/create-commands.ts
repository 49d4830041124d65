import type { Downlink } from '#domain/downlink.ts'
import type { Events } from '#gateway/events.ts'
import type { FairTurns } from '#shared/budgets/fair-turns.ts'
import type { Log } from '#shared/log.ts'
import type { Store } from '#store/store.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Fleet } from '../fleet.ts'
import type { Site } from '../site.ts'
import { Commands } from './commands.ts'
import { CommandDelivery } from './delivery.ts'
import { type CartLookup, LockGate } from './lock-gate.ts'
import type { NewCommandDeps } from './new-command.ts'
import type { DeviceTypeLookup } from './request.ts'

interface Deps extends Pick<NewCommandDeps, 'geofenceTokens'> {
  store: Store
  fleet: Fleet
  deviceTypes: DeviceTypeLookup
  carts: CartLookup
  site: Pick<Site, 'settings'>
  downlink: Downlink
  commandTurns: FairTurns
  events: Events
  clock: GatewayClock
  log: Log
}

/** Builds the components that create commands, decide on locks, and send commands until devices acknowledge them. */
export function createCommands({ commandTurns: turns, ...deps }: Deps) {
  const gate = new LockGate(deps)
  const delivery = new CommandDelivery({ ...deps, turns, gate })
  return { gate, delivery, commands: new Commands({ ...deps, delivery, turns, gate }) }
}
