import { type Figure, formatCount, noneOf } from '#scripts/rig/report.ts'
import type { FleetCheck } from './fleet-load.ts'

/** The lines of the summary that say whether anything a fleet was promised is gone. */
export function fleetFigures(name: string, { lostDevices, history, wrongStates, lockEvents }: FleetCheck): Figure[] {
  const samples = formatCount(history.acknowledged)
  const events = formatCount(lockEvents.acknowledged)
  return [
    noneOf(`${name}: samples acknowledged but missing, of ${samples}`, history.missing),
    noneOf(`${name}: samples there twice`, history.duplicates),
    noneOf(`${name}: carts whose state is not that of their newest record`, wrongStates),
    noneOf(`${name}: lock events acknowledged but missing, of ${events}`, lockEvents.missing),
    noneOf(`${name}: lock events there twice`, lockEvents.twice),
    noneOf(`${name}: registered devices missing`, lostDevices),
  ]
}
