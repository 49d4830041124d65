import type { Clock } from '#shared/time.ts'
import { Turns } from '#shared/turns.ts'
import { zonesTopic } from '#shared/wire/mqtt.ts'
import { compactZones } from '#shared/zones/compact.ts'
import { type WatchedZones, watchedZones } from '#shared/zones/watched-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import type { GeofenceSetChange } from '#store/geofences.ts'
import type { Store } from '#store/store.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import { type Downlink, publishWith } from './downlink.ts'

/** The zones of one id. */
export interface GeofenceSet {
  groupId: number
  /** Grows with every change; 0 while there never were any zones. */
  version: number
  zones: readonly Zone[]
}

/** The zones of a group that raise events, and each by its id. */
export interface WatchedSet {
  groupId: number
  watched: WatchedZones
  zoneOf(zoneId: string): Zone | undefined
}

interface GeofencesDeps {
  store: Pick<Store, 'read' | 'write'>
  downlink: Pick<Downlink, 'prepare'>
  clock: Clock
}

interface KnownSet extends GeofenceSet {
  /** Made at the first use; null when there is nothing to watch. */
  watched?: WatchedSet | null
}

/**
 * The zones of all groups, in memory. Changes are made one after the other, each in one transaction with the retained
 * message that brings it to the teeboxes: what they read is always what is stored.
 */
export class Geofences {
  readonly #deps: GeofencesDeps
  readonly #byGroupId = new Map<number, KnownSet>()
  /** Groups whose retained message is not made of the zones that are stored. */
  readonly #untold = new Set<number>()
  /** Two changes at once would give two sets the same version. */
  readonly #turns = new Turns()

  constructor(deps: GeofencesDeps) {
    this.#deps = deps
  }

  load(): void {
    const { read } = this.#deps.store
    const messages = new Map(
      read.zoneMessages().map(({ topic, payload }) => [topic, Buffer.from(payload).toString()]),
    )
    for (const { groupId, version, zonesJson } of read.geofenceSets()) {
      // written by this program only
      const set: KnownSet = { groupId, version, zones: JSON.parse(zonesJson) }
      this.#byGroupId.set(groupId, set)
      const { topic, payload } = messageOf(set)
      if (messages.get(topic) !== payload) this.#untold.add(groupId)
    }
  }

  /** Empty at version 0 for an id that was never used. */
  of(groupId: number): GeofenceSet {
    return this.#byGroupId.get(groupId) ?? { groupId, version: 0, zones: [] }
  }

  versionOf(groupId: number): number {
    return this.of(groupId).version
  }

  /** Whether there are zones under this id. */
  has(groupId: number): boolean {
    return this.of(groupId).zones.length > 0
  }

  /** The highest id that ever had zones; 0 when none had. */
  highestId(): number {
    return Math.max(0, ...this.#byGroupId.keys())
  }

  /** Null when nothing is to be watched: no group, or no zones that are enabled. */
  watchedOf(groupId: number | null): WatchedSet | null {
    const set = groupId === null ? undefined : this.#byGroupId.get(groupId)
    if (set === undefined) return null
    if (set.watched === undefined) set.watched = watchedSet(set)
    return set.watched
  }

  /**
   * Resolves when the zones are stored and published. `check` may throw when it is their turn: nothing is changed then.
   * `also` is written in the same transaction, or refuses it.
   */
  replace(
    groupId: number,
    zones: readonly Zone[],
    check = () => undefined as unknown,
    also?: NamedWrite,
  ): Promise<GeofenceSet> {
    return this.#turns.take(async () => {
      check()
      return this.#save({ groupId, version: this.versionOf(groupId) + 1, zones }, also)
    })
  }

  /**
   * Publishes a set without zones for each of these groups that never had one: a teebox that comes from another group
   * must lose the zones of that. And publishes anew, as the next version, what the start did not find as it is stored.
   */
  async publishMissing(groupIds: Iterable<number>): Promise<void> {
    for (const groupId of this.#untold) await this.#turns.take(() => this.#publishAnew(groupId))
    for (const groupId of groupIds) {
      if (this.#byGroupId.has(groupId)) continue
      await this.#turns.take(async () => {
        if (!this.#byGroupId.has(groupId)) await this.#save({ groupId, version: 0, zones: [] })
      })
    }
  }

  async #publishAnew(groupId: number): Promise<void> {
    if (!this.#untold.has(groupId)) return
    const { version, zones } = this.of(groupId)
    // the teeboxes may have what is wrong under the version it has
    await this.#save({ groupId, version: version === 0 ? 0 : version + 1, zones })
  }

  /** Empties the set of a group in the transaction of `write`; `onWritten` is to be called in that of the write. */
  emptyWith<Result>(
    groupId: number,
    write: (change: GeofenceSetChange | null, onWritten: () => void) => Promise<Result>,
  ): Promise<Result> {
    return this.#turns.take(() => {
      if (!this.has(groupId)) return write(null, () => undefined)
      return this.#saveWith({ groupId, version: this.versionOf(groupId) + 1, zones: [] }, write)
    })
  }

  async #save(set: GeofenceSet, also?: NamedWrite): Promise<GeofenceSet> {
    const { store } = this.#deps
    await this.#saveWith(set, (change, onWritten) => store.write('saveGeofenceSet', change, onWritten, also))
    return set
  }

  #saveWith<Result>(
    set: GeofenceSet,
    write: (change: GeofenceSetChange, onWritten: () => void) => Promise<Result>,
  ): Promise<Result> {
    const { downlink, clock } = this.#deps
    const { groupId, version, zones } = set
    const row = { groupId, version, zonesJson: JSON.stringify(zones), updatedAtMs: clock.nowMs() }
    return publishWith([downlink.prepare(messageOf(set))], (sessionChanges, commit) =>
      write({ ...row, sessionChanges }, () => {
        this.#byGroupId.set(groupId, set)
        this.#untold.delete(groupId)
        commit()
      }),
    )
  }
}

/** What teeboxes get of a set. */
function messageOf({ groupId, version, zones }: GeofenceSet) {
  const payload = JSON.stringify(compactZones(version, zones))
  return { topic: zonesTopic(groupId), payload, isRetained: true }
}

function watchedSet({ groupId, zones }: GeofenceSet): WatchedSet | null {
  const watched = watchedZones(zones)
  if (watched.zones.length === 0) return null
  const byId = new Map(zones.map((zone) => [zone.id, zone]))
  return { groupId, watched, zoneOf: (zoneId) => byId.get(zoneId) }
}
