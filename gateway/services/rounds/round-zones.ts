import { isCounted, type RoundZones, roundZonesOf } from '#shared/rounds/round-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { Device } from '../fleet.ts'
import type { Geofences } from '../zones/geofences.ts'
import type { WatchedSet } from '../zones/sets.ts'

/** Zones that count for rounds of a cart; the same object until one of them changes. */
export interface CountedZones {
  readonly zones: readonly Zone[]
  readonly roundZones: RoundZones
}

interface Known {
  sets: readonly (WatchedSet | null)[]
  counted: CountedZones
}

/** Zones for rounds, built once for all carts of the same groups. */
export class RoundZonesByGroup {
  readonly #geofences: Pick<Geofences, 'watchedOf'>
  readonly #known = new Map<string, Known>()

  constructor(geofences: Pick<Geofences, 'watchedOf'>) {
    this.#geofences = geofences
  }

  /** Returns the zones for a cart with these devices: those of the site and of the groups of all its devices. */
  of(devices: readonly Device[]): CountedZones {
    return this.#knownOfOneGroup(devices) ?? this.#ofGroups([...new Set(devices.map(groupOf))])
  }

  /** Fast path, called every second, for devices that share one group, as those of nearly all carts do. */
  #knownOfOneGroup(devices: readonly Device[]): CountedZones | undefined {
    const groupId = devices[0]?.row.groupId ?? null
    for (const device of devices) if (device.row.groupId !== groupId) return undefined
    const known = this.#known.get(groupId === null ? '' : String(groupId))
    return known?.sets[0] === this.#geofences.watchedOf(groupId) ? known.counted : undefined
  }

  #ofGroups(groupIds: readonly (number | null)[]): CountedZones {
    const key = groupIds.join(' ')
    const sets = groupIds.map((groupId) => this.#geofences.watchedOf(groupId))
    const known = this.#known.get(key)
    if (known !== undefined && isSame(sets, known.sets)) return known.counted
    const zones = zonesOf(sets)
    // an override of a zone that does not count leaves rounds unchanged
    const counted =
      known !== undefined && isSame(zones, known.counted.zones)
        ? known.counted
        : { zones, roundZones: roundZonesOf(zones) }
    this.#known.set(key, { sets, counted })
    return counted
  }
}

function groupOf({ row }: Device): number | null {
  return row.groupId
}

function zonesOf(sets: readonly (WatchedSet | null)[]): Zone[] {
  const zones = sets.flatMap((set) => set?.watched.zones.flatMap(({ id }) => set.zoneOf(id) ?? []) ?? [])
  return [...new Map(zones.filter(isCounted).map((zone) => [zone.id, zone])).values()]
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, i) => item === other[i])
}
