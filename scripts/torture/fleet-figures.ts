import { type Figure, formatCount } from '#scripts/rig/report.ts'
import type { FleetCheck } from './fleet-load.ts'

/** The lines of the summary that say whether anything a fleet was promised is gone. */
export function fleetFigures(name: string, { lostDevices, history, lockEvents }: FleetCheck): Figure[] {
  const samples = formatCount(history.acknowledged)
  const events = formatCount(lockEvents.acknowledged)
  return [
    noneOf(`${name}: samples acknowledged but missing, of ${samples}`, history.missing),
    noneOf(`${name}: samples there twice`, history.duplicates),
    noneOf(`${name}: lock events acknowledged but missing, of ${events}`, lockEvents.missing),
    noneOf(`${name}: lock events there twice`, lockEvents.twice),
    noneOf(`${name}: registered devices missing`, lostDevices),
  ]
}

/** A figure that must be 0. */
export function noneOf(name: string, count: number): Figure {
  return { name, target: '0', reached: formatCount(count), passed: count === 0 }
}

/** A figure without a target. */
export function told(name: string, reached: string): Figure {
  return { name, target: '', reached, passed: null }
}
