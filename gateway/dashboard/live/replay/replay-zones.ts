import type { CartGround, ZoneStay } from '#shared/carts/judge.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { fromSiteFeaturesJson } from '#shared/wire/zones-json.ts'
import { staysOf } from '#shared/zones/stays.ts'
import { type Fix, UNWATCHED, watch } from '#shared/zones/watch.ts'
import { type WatchedZones, watchedZones } from '#shared/zones/watched-zones.ts'
import { type SiteZone, zonesForGroup } from '#shared/zones/zone.ts'

interface GroupZones {
  watched: WatchedZones
  ground: CartGround
}

/** The zones of the site as they are now, by the group of a device: a replay knows no others. */
export class ReplayZones {
  readonly #zones: readonly SiteZone[]
  readonly #byId: ReadonlyMap<string, SiteZone>
  readonly #ofGroup = new Map<number | null, GroupZones>()

  constructor(zones: ZonesJson | null) {
    this.#zones = fromSiteFeaturesJson(zones?.features ?? []).filter(({ isEnabled }) => isEnabled)
    this.#byId = new Map(this.#zones.map((zone) => [zone.id, zone]))
  }

  groundOf(groupId: number | null): CartGround {
    return this.#of(groupId).ground
  }

  /** Zones that a device is in after these fixes, the oldest first: the last says it, once the one before agrees. */
  staysAfter(fixes: readonly Fix[], groupId: number | null): ZoneStay[] {
    const { watched } = this.#of(groupId)
    let state = UNWATCHED
    for (const fix of fixes) state = watch(state, watched, fix).state
    return staysOf(state, watched, null).flatMap(({ zoneId, sinceMs }) => {
      const zone = this.#byId.get(zoneId)
      if (zone === undefined) return []
      return [{ zoneId, name: zone.name, type: zone.type, hole: zone.hole, sinceMs }]
    })
  }

  #of(groupId: number | null): GroupZones {
    const known = this.#ofGroup.get(groupId)
    if (known !== undefined) return known
    const zones = zonesForGroup(this.#zones, groupId)
    const has = (type: string) => zones.some((zone) => zone.type === type)
    const ground = { hasParking: has('parking'), hasBoundary: has('boundary') }
    const made = { watched: watchedZones(zones), ground }
    this.#ofGroup.set(groupId, made)
    return made
  }
}
