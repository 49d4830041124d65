import { NO_SWITCHES, type SwitchableZones } from '#domain/zone-switches.ts'
import { type WatchedZones, watchedZones } from '#shared/zones/watched-zones.ts'
import { type SiteZone, type Zone, type ZoneType, zonesForGroup } from '#shared/zones/zone.ts'

const NO_ZONES: readonly Zone[] = []

/** Zones of one id. */
export interface GeofenceSet {
  groupId: number
  /** Version of the published zones; grows with every change; 0 while there never were any zones. */
  version: number
  zones: readonly Zone[]
}

/** Own zones of a group, and the zones of the site with which they were published. */
export interface GroupZoneSet extends GeofenceSet {
  /** Version of the site's zones; 0 while the id is not a group, or the site never had zones. */
  siteVersion: number
  /** Version of this set under which these zones of the site were first published. */
  siteSince: number
}

export interface SiteZoneSet extends SwitchableZones {
  /** Grows with every change; 0 while there never were any. */
  version: number
}

/** Enabled zones that count for a group, prepared for crossings, and all its zones by id. */
export interface WatchedSet {
  watched: WatchedZones
  types: ReadonlySet<ZoneType>
  zoneOf(zoneId: string): Zone | undefined
  /** Returns the group that owns a zone; null for a zone of the site. */
  groupOf(zoneId: string): number | null
}

/**
 * All zones in memory: the site's set, the own sets of groups, and the zones that count for a group, which are both.
 * Derived values are computed on demand and kept until the zones change.
 */
export class ZoneSets {
  #site: SiteZoneSet = { version: 0, zones: [], switches: NO_SWITCHES }
  readonly #ownOf = new Map<number, GroupZoneSet>()
  /** Keyed by the site's zones, then by the own ones. */
  readonly #unions = new WeakMap<readonly Zone[], WeakMap<readonly Zone[], Map<number | null, readonly Zone[]>>>()
  readonly #allOf = new Map<number, GeofenceSet>()
  readonly #watchedOf = new Map<number | null, WatchedSet | null>()

  get site(): SiteZoneSet {
    return this.#site
  }

  /** Returns the sets of all ids that ever had zones, or for which an empty set was published. */
  own(): IterableIterator<GroupZoneSet> {
    return this.#ownOf.values()
  }

  ownOf(groupId: number): GroupZoneSet | undefined {
    return this.#ownOf.get(groupId)
  }

  setSite(set: SiteZoneSet): void {
    this.#site = set
    this.#allOf.clear()
    this.#watchedOf.clear()
  }

  setOwn(set: GroupZoneSet): void {
    this.#ownOf.set(set.groupId, set)
    this.#allOf.delete(set.groupId)
    this.#watchedOf.delete(set.groupId)
  }

  /** Returns the zones for a device of this group, or of none: the site's, then the group's own; enabled or not. */
  zonesOf(groupId: number | null): readonly Zone[] {
    return this.unionOf(this.#site.zones, groupId, this.#ownZones(groupId))
  }

  /** Returns the zones that a group would have with these sets; the same object for the same arguments. */
  unionOf(site: readonly SiteZone[], groupId: number | null, own = this.#ownZones(groupId)): readonly Zone[] {
    const byOwn = valueIn(this.#unions, site, () => new WeakMap())
    const byGroup = valueIn(byOwn, own, () => new Map())
    return valueIn(byGroup, groupId, () => {
      const ofSite = zonesForGroup(site, groupId)
      return own.length === 0 ? ofSite : ofSite.length === 0 ? own : [...ofSite, ...own]
    })
  }

  /** Returns the zones of `zonesOf` with their published version; the same object until zones change. */
  allOf(groupId: number): GeofenceSet {
    let all = this.#allOf.get(groupId)
    if (all === undefined) {
      all = { groupId, version: this.#ownOf.get(groupId)?.version ?? 0, zones: this.zonesOf(groupId) }
      this.#allOf.set(groupId, all)
    }
    return all
  }

  /** Returns null if no zone is enabled. The same object until zones change. */
  watchedOf(groupId: number | null): WatchedSet | null {
    let watched = this.#watchedOf.get(groupId)
    if (watched === undefined) {
      watched = watchedSet(this.zonesOf(groupId), groupId, this.#ownZones(groupId))
      this.#watchedOf.set(groupId, watched)
    }
    return watched
  }

  #ownZones(groupId: number | null): readonly Zone[] {
    return (groupId === null ? undefined : this.#ownOf.get(groupId)?.zones) ?? NO_ZONES
  }
}

/** Returns the value of a key; creates it if missing. */
function valueIn<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

function watchedSet(zones: readonly Zone[], groupId: number | null, own: readonly Zone[]): WatchedSet | null {
  const watched = watchedZones(zones)
  if (watched.zones.length === 0) return null
  const byId = new Map(zones.map((zone) => [zone.id, zone]))
  const ownIds = new Set(own.map(({ id }) => id))
  return {
    watched,
    types: new Set(zones.filter(({ isEnabled }) => isEnabled).map(({ type }) => type)),
    zoneOf: (zoneId) => byId.get(zoneId),
    groupOf: (zoneId) => (ownIds.has(zoneId) ? groupId : null),
  }
}
