import type { Downlink } from '#domain/downlink.ts'
import { zonesWithPendingOverrides } from '#domain/zone-switches.ts'
import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import type { Clock } from '#shared/time.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { Store } from '#store/store.ts'
import type { GeofenceSetChange } from '#store/tables/geofences.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import { publishWith } from '../downlink.ts'
import type { ZoneMessages } from './messages.ts'
import { requireFreeIds, requireRoom } from './rules.ts'
import { readZoneSet } from './set-json.ts'
import type { GeofenceSet, GroupZoneSet, WatchedSet, ZoneSets } from './sets.ts'

interface GeofencesDeps {
  store: Pick<Store, 'read' | 'write'>
  downlink: Pick<Downlink, 'prepare'>
  clock: Clock
  sets: ZoneSets
  messages: ZoneMessages
  /** Queue of changes: two at a time, of the site's zones or of a group's, would give two sets the same version. */
  turns: SerialQueue
  /** False for an id without a group: zones may be stored under it, but those of the site do not count there. */
  isGroup: (groupId: number) => boolean
}

/**
 * Own zones of groups. Changes are made one after the other, each in one transaction with the retained message that
 * sends the zones of the group and of the site to its teeboxes, so that they always read the stored zones.
 */
export class Geofences {
  readonly #deps: GeofencesDeps
  /** Groups whose retained message does not match the stored zones. */
  readonly #unpublished = new Set<number>()

  constructor(deps: GeofencesDeps) {
    this.#deps = deps
  }

  /** Must be called after groups are loaded: the published zones depend on them. */
  load(): void {
    const { store, sets } = this.#deps
    const { read } = store
    const site = read.zoneSet()
    if (site !== null) sets.setSite(readZoneSet(site))
    const published = new Map(read.zoneMessages().map(({ topic, payload }) => [topic, Buffer.from(payload).toString()]))
    for (const { zonesJson, ...row } of read.geofenceSets()) {
      // written only by this program
      const set: GroupZoneSet = { ...row, zones: JSON.parse(zonesJson) }
      sets.setOwn(set)
      const { topic, payload } = this.#messageOf(set)
      if (published.get(topic) !== payload) this.#unpublished.add(set.groupId)
    }
  }

  /** Returns an empty set at version 0 for an id that was never used. */
  of(groupId: number): GeofenceSet {
    return this.#deps.sets.ownOf(groupId) ?? { groupId, version: 0, zones: [] }
  }

  versionOf(groupId: number): number {
    return this.of(groupId).version
  }

  has(groupId: number): boolean {
    return this.of(groupId).zones.length > 0
  }

  idsOfSite(): ReadonlySet<string> {
    return new Set(this.#deps.sets.site.zones.map(({ id }) => id))
  }

  /** Returns all zones that count for a group: those of the site, then its own. For an id without a group, its own. */
  allOf(groupId: number): GeofenceSet {
    const { sets, isGroup } = this.#deps
    return isGroup(groupId) ? sets.allOf(groupId) : this.of(groupId)
  }

  /** Returns the largest distance, in metres, between the edges as drawn and as sent to teeboxes of the group. */
  lossMOf(groupId: number): number {
    return this.#deps.messages.fit(this.allOf(groupId).zones).lossM
  }

  /** Returns the highest id that ever had zones; 0 if none had. */
  highestId(): number {
    let highest = 0
    for (const { groupId } of this.#deps.sets.own()) highest = Math.max(highest, groupId)
    return highest
  }

  /**
   * Returns the zones that count for a device of this group, or of none, including those of the site; null if none is
   * enabled. The same object until they change.
   */
  watchedOf(groupId: number | null): WatchedSet | null {
    return this.#deps.sets.watchedOf(groupId)
  }

  /**
   * Resolves when the zones are stored and published. `check` runs just before the change, and cancels it by throwing.
   * `also` is written in the same transaction, or rejects it. Throws `duplicate_id` for an id of a zone of the site,
   * `too_many_zones` and `too_large` if the zones of the site leave too little room.
   */
  replace(
    groupId: number,
    zones: readonly Zone[],
    check = () => undefined as unknown,
    also?: NamedWrite,
  ): Promise<GeofenceSet> {
    const { turns, sets, messages } = this.#deps
    return turns.take(async () => {
      check()
      requireFreeIds(zones, sets.site.zones, 'the site')
      const union = sets.unionOf(zonesWithPendingOverrides(sets.site), groupId, zones)
      // without zones of the site, the room was checked when the request was parsed
      if (union !== zones) await requireRoom(union, `group ${groupId}`, messages)
      return this.#save(this.#next(groupId, zones), also)
    })
  }

  /**
   * Publishes the zones of these groups that were never published with the current zones of the site, even an empty
   * set: a teebox that comes from another group must lose the zones of that group. Also publishes again, as the next
   * version, what `load` found to differ from the stored zones.
   */
  async publishMissing(groupIds: Iterable<number>): Promise<void> {
    const { turns, sets } = this.#deps
    for (const groupId of this.#unpublished) await turns.take(() => this.#republish(groupId))
    for (const groupId of groupIds) {
      if (this.#isPublished(groupId)) continue
      await turns.take(async () => {
        if (this.#isPublished(groupId)) return
        const { zones } = this.of(groupId)
        const isFirst = sets.ownOf(groupId) === undefined && sets.zonesOf(groupId).length === 0
        await this.#save({ ...this.#next(groupId, zones), ...(isFirst && { version: 0, siteSince: 0 }) })
      })
    }
  }

  /** Empties the set of a group in the transaction of `write`, which must call `onWritten` in its own `onWritten`. */
  emptyWith<Result>(
    groupId: number,
    write: (change: GeofenceSetChange | null, onWritten: () => void) => Promise<Result>,
  ): Promise<Result> {
    const { turns, sets } = this.#deps
    return turns.take(() => {
      if (sets.zonesOf(groupId).length === 0) return write(null, () => undefined)
      // without the zones of the site, too: the group has no devices for which they would count
      const set = { ...this.#next(groupId, []), siteVersion: 0 }
      return this.#saveWith(set, write)
    })
  }

  #isPublished(groupId: number): boolean {
    const { sets } = this.#deps
    return sets.ownOf(groupId)?.siteVersion === sets.site.version
  }

  async #republish(groupId: number): Promise<void> {
    const known = this.#deps.sets.ownOf(groupId)
    if (!this.#unpublished.has(groupId) || known === undefined) return
    // a new version, because teeboxes may have wrong zones under the current one
    await this.#save({ ...this.#next(groupId, known.zones), ...(known.version === 0 && { version: 0 }) })
  }

  #next(groupId: number, zones: readonly Zone[]): GroupZoneSet {
    const { sets, isGroup } = this.#deps
    const siteVersion = isGroup(groupId) ? sets.site.version : 0
    const version = this.versionOf(groupId) + 1
    const known = sets.ownOf(groupId)
    const siteSince = known?.siteVersion === siteVersion ? known.siteSince : version
    return { groupId, version, zones, siteVersion, siteSince }
  }

  async #save(set: GroupZoneSet, also?: NamedWrite): Promise<GeofenceSet> {
    const { store } = this.#deps
    await this.#saveWith(set, (change, onWritten) => store.write('saveGeofenceSet', change, onWritten, also))
    return set
  }

  async #saveWith<Result>(
    set: GroupZoneSet,
    write: (change: GeofenceSetChange, onWritten: () => void) => Promise<Result>,
  ): Promise<Result> {
    const { downlink, clock, sets, messages } = this.#deps
    await messages.fitInTurns(this.#publishedOf(set))
    const { zones, ...row } = set
    const stored = { ...row, zonesJson: JSON.stringify(zones), updatedAtMs: clock.nowMs() }
    return publishWith([downlink.prepare(this.#messageOf(set))], (sessionChanges, commit) =>
      write({ ...stored, sessionChanges }, () => {
        sets.setOwn(set)
        this.#unpublished.delete(set.groupId)
        commit()
      }),
    )
  }

  #messageOf(set: GroupZoneSet) {
    return this.#deps.messages.messageOf(set.groupId, set.version, this.#publishedOf(set))
  }

  /** Returns the zones to publish: for a group, with the current zones of the site. */
  #publishedOf({ groupId, zones, siteVersion }: GroupZoneSet): readonly Zone[] {
    const { sets } = this.#deps
    return siteVersion === 0 ? zones : sets.unionOf(sets.site.zones, groupId, zones)
  }
}
