import { isCounted, type RoundZones, roundZonesOf } from '#shared/rounds/round-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { Device } from '../fleet.ts'
import type { Geofences } from '../zones/geofences.ts'
import type { WatchedSet } from '../zones/sets.ts'

/** The zones that rounds of a cart go by: the same object until one of them is another. */
export interface CountedZones {
  readonly zones: readonly Zone[]
  readonly ground: RoundZones
}

interface Known {
  sets: readonly (WatchedSet | null)[]
  counted: CountedZones
}

/** What rounds of carts go by, made once for all carts of the same groups. */
export class RoundZonesByGroup {
  readonly #geofences: Pick<Geofences, 'watchedOf'>
  readonly #known = new Map<string, Known>()

  constructor(geofences: Pick<Geofences, 'watchedOf'>) {
    this.#geofences = geofences
  }

  /** Of a cart of these devices: zones of the site and of the groups of all of them. */
  of(devices: readonly Device[]): CountedZones {
    return this.#knownOfOneGroup(devices) ?? this.#ofGroups([...new Set(devices.map(groupOf))])
  }

  /** What is known of devices that are all in one group, as those of nearly all carts are: asked for every second. */
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
    // a zone that is switched and counts for no round changes no round
    const counted =
      known !== undefined && isSame(zones, known.counted.zones) ? known.counted : { zones, ground: roundZonesOf(zones) }
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
