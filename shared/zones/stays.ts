import { enteredAt, type Fix, knownZones, type WatchState } from './watch.ts'
import { locate, type WatchedZones } from './watched-zones.ts'

/** Zone that a device is in; `sinceMs` is the event time at which it entered or was first known to be inside. */
export interface Stay {
  zoneId: string
  sinceMs: number
}

/**
 * Returns the zones that a device is in, by zone id, consistent with its zone events. Zones without a state (new, or
 * with a new shape since the last fix) are evaluated at that fix, or at `newest`, the newest known position, while no
 * zones were watched. The result stays the same for the same three objects, which are never modified.
 */
export function staysOf(state: WatchState, watched: WatchedZones, newest: Fix | null): Stay[] {
  const last = state.last ?? newest
  if (last === null) return []
  const stays =
    state.last !== null && state.fingerprints === watched.fingerprints
      ? knownStays(state, last)
      : staysAmong(state, watched, last)
  return stays.length < 2 ? stays : stays.sort((a, b) => (a.zoneId < b.zoneId ? -1 : 1))
}

function knownStays({ zones }: WatchState, last: Fix): Stay[] {
  const stays: Stay[] = []
  for (const { id, isInside, sinceMs = last.atMs } of zones) if (isInside) stays.push({ zoneId: id, sinceMs })
  return stays
}

function staysAmong(state: WatchState, watched: WatchedZones, last: Fix): Stay[] {
  const isKnown = knownZones(state, watched)
  const stateOf = new Map(state.zones.map((zone) => [zone.id, zone]))
  return watched.zones.flatMap((zone) => {
    const known = stateOf.get(zone.id)
    const isInside = isKnown(zone) ? known?.isInside : locate(zone, last) === 'inside'
    return isInside ? [{ zoneId: zone.id, sinceMs: enteredAt(known, last) }] : []
  })
}
