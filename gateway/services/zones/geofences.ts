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
  /** Two changes at once, of the site's zones or of those of a group, would give two sets the same version. */
  turns: SerialQueue
  /** Zones may be stored under an id that is no group: those of the site do not count there. */
  isGroup: (groupId: number) => boolean
}

/**
 * The own zones of groups. Changes are made one after the other, each in one transaction with the retained message that
 * brings the group's zones, and those of the site beside them, to the teeboxes: what they read is always what is
 * stored.
 */
export class Geofences {
  readonly #deps: GeofencesDeps
  /** Groups whose retained message is not made of the zones that are stored. */
  readonly #untold = new Set<number>()

  constructor(deps: GeofencesDeps) {
    this.#deps = deps
  }

  /** Groups come before: what is published depends on which there are. */
  load(): void {
    const { store, sets } = this.#deps
    const { read } = store
    const site = read.zoneSet()
    if (site !== null) sets.setSite(readZoneSet(site))
    const published = new Map(read.zoneMessages().map(({ topic, payload }) => [topic, Buffer.from(payload).toString()]))
    for (const { zonesJson, ...row } of read.geofenceSets()) {
      // written by this program only
      const set: GroupZoneSet = { ...row, zones: JSON.parse(zonesJson) }
      sets.setOwn(set)
      const { topic, payload } = this.#messageOf(set)
      if (published.get(topic) !== payload) this.#untold.add(set.groupId)
    }
  }

  /** Empty at version 0 for an id that was never used. */
  of(groupId: number): GeofenceSet {
    return this.#deps.sets.ownOf(groupId) ?? { groupId, version: 0, zones: [] }
  }

  versionOf(groupId: number): number {
    return this.of(groupId).version
  }

  /** Whether there are zones under this id. */
  has(groupId: number): boolean {
    return this.of(groupId).zones.length > 0
  }

  /** Ids that the zones of the site have. */
  idsOfSite(): ReadonlySet<string> {
    return new Set(this.#deps.sets.site.zones.map(({ id }) => id))
  }

  /** All that counts for a group: zones of the site, then its own. Of an id that is no group, its own. */
  allOf(groupId: number): GeofenceSet {
    const { sets, isGroup } = this.#deps
    return isGroup(groupId) ? sets.allOf(groupId) : this.of(groupId)
  }

  /** How far edges are from where they were drawn, in what teeboxes of the group get, in metres. */
  lossMOf(groupId: number): number {
    return this.#deps.messages.fit(this.allOf(groupId).zones).lossM
  }

  /** The highest id that ever had zones; 0 when none had. */
  highestId(): number {
    let highest = 0
    for (const { groupId } of this.#deps.sets.own()) highest = Math.max(highest, groupId)
    return highest
  }

  /**
   * The zones that count for a device of this group, or of none, those of the site included; null when none of them is
   * enabled. The same object until they change.
   */
  watchedOf(groupId: number | null): WatchedSet | null {
    return this.#deps.sets.watchedOf(groupId)
  }

  /**
   * Resolves when the zones are stored and published. `check` may throw when it is their turn: nothing is changed then.
   * `also` is written in the same transaction, or refuses it. Throws `duplicate_id` for one that a zone of the site
   * has, `too_many_zones` and `too_large` where the site's leave no room for them.
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
      // what is too much for a group without zones of the site was refused when it was read
      if (union !== zones) await requireRoom(union, `group ${groupId}`, messages)
      return this.#save(this.#next(groupId, zones), also)
    })
  }

  /**
   * Publishes the zones of each of these groups that have never been published with those of the site as they are, also
   * an empty set: a teebox that comes from another group must lose the zones of that. And publishes anew, as the next
   * version, what the start did not find as it is stored.
   */
  async publishMissing(groupIds: Iterable<number>): Promise<void> {
    const { turns, sets } = this.#deps
    for (const groupId of this.#untold) await turns.take(() => this.#publishAnew(groupId))
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

  /** Empties the set of a group in the transaction of `write`; `onWritten` is to be called in that of the write. */
  emptyWith<Result>(
    groupId: number,
    write: (change: GeofenceSetChange | null, onWritten: () => void) => Promise<Result>,
  ): Promise<Result> {
    const { turns, sets } = this.#deps
    return turns.take(() => {
      if (sets.zonesOf(groupId).length === 0) return write(null, () => undefined)
      // nor those of the site: nobody is there for whom they would count
      const set = { ...this.#next(groupId, []), siteVersion: 0 }
      return this.#saveWith(set, write)
    })
  }

  #isPublished(groupId: number): boolean {
    const { sets } = this.#deps
    return sets.ownOf(groupId)?.siteVersion === sets.site.version
  }

  async #publishAnew(groupId: number): Promise<void> {
    const known = this.#deps.sets.ownOf(groupId)
    if (!this.#untold.has(groupId) || known === undefined) return
    // the teeboxes may have what is wrong under the version it has
    await this.#save({ ...this.#next(groupId, known.zones), ...(known.version === 0 && { version: 0 }) })
  }

  /** The next version of a set. */
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
        this.#untold.delete(set.groupId)
        commit()
      }),
    )
  }

  #messageOf(set: GroupZoneSet) {
    return this.#deps.messages.messageOf(set.groupId, set.version, this.#publishedOf(set))
  }

  /** The zones of which teeboxes get some: with those of the site as they are now, if the set is that of a group. */
  #publishedOf({ groupId, zones, siteVersion }: GroupZoneSet): readonly Zone[] {
    const { sets } = this.#deps
    return siteVersion === 0 ? zones : sets.unionOf(sets.site.zones, groupId, zones)
  }
}
