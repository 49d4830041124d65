import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'

export type ZoneJson = ZonesJson['features'][number]
type ZoneList = readonly ZoneJson[]

/** Of an id that is made longer. */
const ID_STEM_MAX = 48

/** What became of a zone since a set was read. */
export type ZoneChange = 'added' | 'changed' | 'removed'

/** A zone that two people changed, or one of them. */
export interface ZoneDifference {
  id: string
  name: string
  mine: ZoneChange | null
  theirs: ZoneChange | null
}

/** What is different between two sets, by the id of the zone. */
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

/** What was done here and what was saved by others since both began with `base`. */
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

/** Their set with what was done here: of a zone that both changed it is mine. */
export function merged(base: ZoneList, mine: ZoneList, theirs: ZoneList): ZoneJson[] {
  const fates = changesOf(base, mine)
  const ours = byId(mine)
  const kept = theirs
    .filter(({ id }) => fates.get(id) !== 'removed')
    .map((zone) => (fates.has(zone.id) ? (ours.get(zone.id) ?? zone) : zone))
  const has = new Set(kept.map(({ id }) => id))
  return [...kept, ...mine.filter(({ id }) => fates.has(id) && !has.has(id))]
}

/** An id that no other tablet gives to a zone, as numbers would be: `stop-1x9k3fq`. */
export function newId(wanted: string): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1))
  return `${wanted.slice(0, ID_STEM_MAX)}-${random.toString(36)}`
}

/** The proposed ones that are not there yet, under ids that are free. */
export function withProposed(zones: ZoneList, proposed: ZoneList): ZoneJson[] {
  const known = new Set(zones.map(likeness))
  const taken = new Set(zones.map(({ id }) => id))
  const missing = proposed.filter((zone) => !known.has(likeness(zone)))
  return [...zones, ...missing.map((zone) => (taken.has(zone.id) ? { ...zone, id: newId(zone.id) } : zone))]
}

/** New ids of zones that were added here, and elsewhere another zone by the same id. */
export function renamings(base: ZoneList, mine: ZoneList, theirs: ZoneList): ReadonlyMap<string, string> {
  const others = byId(theirs)
  for (const { id } of base) others.delete(id)
  const isTaken = (zone: ZoneJson) => {
    const other = others.get(zone.id)
    return other !== undefined && likeness(other) !== likeness(zone)
  }
  return new Map(mine.filter(isTaken).map(({ id }) => [id, newId(id)]))
}

/** The zones under their new ids. */
export function renamed(zones: ZoneList, ids: ReadonlyMap<string, string>): ZoneJson[] {
  return zones.map((zone) => ({ ...zone, id: ids.get(zone.id) ?? zone.id }))
}

/** A green that somebody has moved since is still the green of its hole; without a hole it is known by its place. */
function likeness({ geometry, properties: { type, hole, name } }: ZoneJson): string {
  return JSON.stringify(hole === undefined ? [type, geometry.coordinates] : [type, hole, name])
}

function byId(zones: ZoneList): Map<string, ZoneJson> {
  return new Map(zones.map((zone) => [zone.id, zone]))
}

/** Whether people drew the same: a switch in between is no change of theirs. */
function isSame(one: ZoneJson, other: ZoneJson): boolean {
  return drawn(one) === drawn(other)
}

function drawn({ geometry, properties }: ZoneJson): string {
  const { switched: _, enabled_before, switched_at: __, enabled, ...said } = properties
  const entries = Object.entries(said).filter(([, value]) => value !== undefined)
  return JSON.stringify([geometry, enabled_before ?? enabled, entries.sort(([a], [b]) => (a < b ? -1 : 1))])
}

/** A zone as it is proposed: what it lacks is absent or null. */
type ProposedZone = AnswerOf<'POST /course/propose-zones'>['features'][number]

/** Proposed zones as if they had been drawn here. */
export function shownZones(proposed: readonly ProposedZone[]): ZoneJson[] {
  return proposed.map(({ id, geometry, properties }) => {
    const { enabled, visible, ...said } = properties
    const given = Object.entries(said).filter(([, value]) => value != null)
    return {
      type: 'Feature',
      id: String(id ?? properties.type),
      // positions of the gateway have two numbers, and properties are those of a zone
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
