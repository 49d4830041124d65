import type { CartZoneContext, ZoneStay } from '#shared/carts/cart-state.ts'
import type { SiteFeatureJson, ZonesJson } from '#shared/wire/zones.ts'
import { fromSiteFeaturesJson } from '#shared/wire/zones-json.ts'
import { staysOf } from '#shared/zones/stays.ts'
import { type Fix, NO_ZONE_STATE, watch } from '#shared/zones/watch.ts'
import { type WatchedZones, watchedZones } from '#shared/zones/watched-zones.ts'
import { type SiteZone, zonesForGroup } from '#shared/zones/zone.ts'
import { NO_OWN_ZONES, type OwnZones } from './own-zones.ts'

interface GroupZones {
  watched: WatchedZones
  byId: ReadonlyMap<string, SiteZone>
  zoneContext: CartZoneContext
}

/** Present zones of the site and of a device's group, keyed by group: past zones are not known. */
export class ReplayZones {
  readonly #zones: readonly SiteZone[]
  readonly #own: OwnZones
  readonly #ofGroup = new Map<number | null, GroupZones>()

  constructor(zones: ZonesJson | null, own: OwnZones = NO_OWN_ZONES) {
    this.#zones = enabledOf(zones?.features ?? [])
    this.#own = own
  }

  zoneContextOf(groupId: number | null): CartZoneContext {
    return this.#of(groupId).zoneContext
  }

  /** Zones that a device is in after these fixes, oldest first: the last fix decides once the previous one agrees. */
  staysAfter(fixes: readonly Fix[], groupId: number | null): ZoneStay[] {
    const { watched, byId } = this.#of(groupId)
    let state = NO_ZONE_STATE
    for (const fix of fixes) state = watch(state, watched, fix).state
    return staysOf(state, watched, null).flatMap(({ zoneId, sinceMs }) => {
      const zone = byId.get(zoneId)
      if (zone === undefined) return []
      return [{ zoneId, name: zone.name, type: zone.type, hole: zone.hole, sinceMs }]
    })
  }

  #of(groupId: number | null): GroupZones {
    const known = this.#ofGroup.get(groupId)
    if (known !== undefined) return known
    const own = groupId === null ? [] : enabledOf(this.#own.get(groupId) ?? [])
    const zones = [...zonesForGroup(this.#zones, groupId), ...own]
    const has = (type: string) => zones.some((zone) => zone.type === type)
    const zoneContext = { hasParking: has('parking'), hasBoundary: has('boundary') }
    const byId = new Map(zones.map((zone) => [zone.id, zone]))
    const made = { watched: watchedZones(zones), byId, zoneContext }
    this.#ofGroup.set(groupId, made)
    return made
  }
}

function enabledOf(features: readonly SiteFeatureJson[]): SiteZone[] {
  return fromSiteFeaturesJson(features).filter(({ isEnabled }) => isEnabled)
}
