import { type Figure, formatCount, noneOf } from '#scripts/rig/report.ts'
import type { FleetCheck } from './fleet-load.ts'

/** Lines of the summary on losses of data acknowledged to a fleet. */
export function fleetFigures(name: string, { lostDevices, history, wrongStates, lockEvents }: FleetCheck): Figure[] {
  const samples = formatCount(history.acknowledged)
  const events = formatCount(lockEvents.acknowledged)
  return [
    noneOf(`${name}: samples acknowledged but missing, of ${samples}`, history.missing),
    noneOf(`${name}: samples stored twice`, history.duplicates),
    noneOf(`${name}: carts whose state differs from their newest record`, wrongStates),
    noneOf(`${name}: lock events acknowledged but missing, of ${events}`, lockEvents.missing),
    noneOf(`${name}: lock events stored twice`, lockEvents.twice),
    noneOf(`${name}: registered devices missing`, lostDevices),
  ]
}
