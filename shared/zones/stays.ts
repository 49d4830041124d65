import { enteredAt, type Fix, knownZones, type WatchState } from './watch.ts'
import { locate, type WatchedZones } from './watched-zones.ts'

/** A zone that a device is in; `sinceMs` is the event time at which it came in, or was first known to be. */
export interface Stay {
  zoneId: string
  sinceMs: number
}

/**
 * The zones a device is in, by zone id, as its zone events see it. Zones that the state says nothing of, because they
 * are new or have another shape since the last fix, are judged at that fix; at `newest`, the newest position there is,
 * while no zones were watched. The answer stays the same while the three objects do: none of them is ever changed.
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
