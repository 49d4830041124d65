import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'

export type ZoneJson = ZonesJson['features'][number]
type ZoneList = readonly ZoneJson[]

/** Maximum length of the stem to which an id suffix is added. */
const ID_STEM_MAX = 48

/** Change of a zone since a set was read. */
export type ZoneChange = 'added' | 'changed' | 'removed'

/** Zone that one or both users have changed. */
export interface ZoneDifference {
  id: string
  name: string
  mine: ZoneChange | null
  theirs: ZoneChange | null
}

/** Returns the changes between two sets, keyed by zone id. */
export function changesOf(before: ZoneList, after: ZoneList): Map<string, ZoneChange> {
  const fates = new Map<string, ZoneChange>()
  const known = byId(before)
  for (const zone of after) {
    const was = known.get(zone.id)
    if (was === undefined) fates.set(zone.id, 'added')
    else if (!isSame(was, zone)) fates.set(zone.id, 'changed')
    known.delete(zone.id)
  }
  for (const id of known.keys()) fates.set(id, 'removed')
  return fates
}

/** Compares the local changes with those that others have saved since `base`. */
export function differencesOf(base: ZoneList, mine: ZoneList, theirs: ZoneList): ZoneDifference[] {
  const [here, there] = [changesOf(base, mine), changesOf(base, theirs)]
  const names = byId([...base, ...mine, ...theirs])
  return [...new Set([...here.keys(), ...there.keys()])].map((id) => ({
    id,
    name: names.get(id)?.properties.name ?? id,
    mine: here.get(id) ?? null,
    theirs: there.get(id) ?? null,
  }))
}

/** Applies the local changes to their set; a zone that both changed is taken from `mine`. */
export function merged(base: ZoneList, mine: ZoneList, theirs: ZoneList): ZoneJson[] {
  const fates = changesOf(base, mine)
  const ours = byId(mine)
  const kept = theirs
    .filter(({ id }) => fates.get(id) !== 'removed')
    .map((zone) => (fates.has(zone.id) ? (ours.get(zone.id) ?? zone) : zone))
  const has = new Set(kept.map(({ id }) => id))
  return [...kept, ...mine.filter(({ id }) => fates.has(id) && !has.has(id))]
}

/** Creates an id that no other tablet generates, unlike a number: `stop-1x9k3fq`. */
export function newId(wanted: string): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1))
  return `${wanted.slice(0, ID_STEM_MAX)}-${random.toString(36)}`
}

/** Adds the proposed zones that do not exist yet, with free ids. */
export function withProposed(zones: ZoneList, proposed: ZoneList): ZoneJson[] {
  const known = new Set(zones.map(likeness))
  const taken = new Set(zones.map(({ id }) => id))
  const missing = proposed.filter((zone) => !known.has(likeness(zone)))
  return [...zones, ...missing.map((zone) => (taken.has(zone.id) ? { ...zone, id: newId(zone.id) } : zone))]
}

/** Returns new ids for local zones whose id was also given to a different zone elsewhere. */
export function renamings(base: ZoneList, mine: ZoneList, theirs: ZoneList): ReadonlyMap<string, string> {
  const others = byId(theirs)
  for (const { id } of base) others.delete(id)
  const isTaken = (zone: ZoneJson) => {
    const other = others.get(zone.id)
    return other !== undefined && likeness(other) !== likeness(zone)
  }
  return new Map(mine.filter(isTaken).map(({ id }) => [id, newId(id)]))
}

export function renamed(zones: ZoneList, ids: ReadonlyMap<string, string>): ZoneJson[] {
  return zones.map((zone) => ({ ...zone, id: ids.get(zone.id) ?? zone.id }))
}

/** Key that a moved zone keeps: a green belongs to its hole; without a hole the position identifies the zone. */
function likeness({ geometry, properties: { type, hole, name } }: ZoneJson): string {
  return JSON.stringify(hole === undefined ? [type, geometry.coordinates] : [type, hole, name])
}

function byId(zones: ZoneList): Map<string, ZoneJson> {
  return new Map(zones.map((zone) => [zone.id, zone]))
}

/** True if both were drawn alike: a temporary override is not a change. */
function isSame(one: ZoneJson, other: ZoneJson): boolean {
  return drawn(one) === drawn(other)
}

function drawn({ geometry, properties }: ZoneJson): string {
  const { switched: _, enabled_before, switched_at: __, enabled, ...others } = properties
  const entries = Object.entries(others).filter(([, value]) => value !== undefined)
  return JSON.stringify([geometry, enabled_before ?? enabled, entries.sort(([a], [b]) => (a < b ? -1 : 1))])
}

/** Proposed zone; missing properties are absent or null. */
type ProposedZone = AnswerOf<'POST /course/propose-zones'>['features'][number]

/** Converts proposed zones to drawn ones. */
export function shownZones(proposed: readonly ProposedZone[]): ZoneJson[] {
  return proposed.map(({ id, geometry, properties }) => {
    const { enabled, visible, ...others } = properties
    const given = Object.entries(others).filter(([, value]) => value != null)
    return {
      type: 'Feature',
      id: String(id ?? properties.type),
      // positions from the gateway have two numbers, and the properties are those of a zone
      geometry: geometry as ZoneJson['geometry'],
      properties: {
        ...(Object.fromEntries(given) as Pick<ZoneJson['properties'], 'name' | 'type'>),
        enabled: enabled ?? true,
        visible: visible ?? false,
        switched: null,
      },
    }
  })
}
