import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Downlink } from '#domain/downlink.ts'
import {
  expireOverrides,
  replaceZones,
  switchZones,
  withoutSwitches,
  zonesWithPendingOverrides,
} from '#domain/zone-switches.ts'
import type { Events } from '#gateway/events.ts'
import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { InvalidRequestError, NotFoundError } from '#shared/errors.ts'
import type { Clock } from '#shared/time.ts'
import { zonesTopic } from '#shared/wire/mqtt.ts'
import { fromSiteFeaturesJson, toSiteFeaturesJson } from '#shared/wire/zones-json.ts'
import type { SiteZone, Zone, ZoneType } from '#shared/zones/zone.ts'
import type { Store } from '#store/store.ts'
import type { ZonesInForce, ZoneVersionRow } from '#store/tables/zones.ts'
import { publishWith } from '../downlink.ts'
import type { ZoneMessages } from './messages.ts'
import { requireFreeIds, requireRoom } from './rules.ts'
import { readZoneSet, toSwitchesBody } from './set-json.ts'
import type { SiteZoneSet, ZoneSets } from './sets.ts'

interface ZonesDeps {
  store: Pick<Store, 'read' | 'write'>
  downlink: Pick<Downlink, 'prepare'>
  events: Events
  clock: Clock
  sets: ZoneSets
  messages: ZoneMessages
  turns: SerialQueue
  groups: { has(groupId: number): boolean; all(): Iterable<{ groupId: number }> }
}

/** Who changes the zones of the site. */
export interface ZonesChange {
  by: { userId: string; name: string }
  /** May throw when it is the change's turn: nothing is changed then. */
  check?: ((current: SiteZoneSet) => void) | undefined
}

/** Which zones are switched: exactly one of these. Holes are zones of any other type that belong to them. */
export interface ZoneSelection {
  zoneIds?: readonly string[] | undefined
  types?: readonly ZoneType[] | undefined
  holes?: readonly number[] | undefined
}

/** What teeboxes of a group got. */
export interface PublishedZones {
  groupId: number
  topic: string
  simplifiedM: number
  bytes: number
}

export interface ChangedZones {
  set: SiteZoneSet
  published: readonly PublishedZones[]
}

/** A group with the zones of the site that are to be. */
interface Plan {
  groupId: number
  version: number
  /** What its teeboxes get where that is other than before. */
  message: ReturnType<ZoneMessages['messageOf']> | null
}

/**
 * The zones of the site: one set for all groups. A change is one transaction with the retained messages of all groups
 * whose zones it changes, in its turn among the changes of groups' own zones.
 */
export class Zones {
  readonly #deps: ZonesDeps

  constructor(deps: ZonesDeps) {
    this.#deps = deps
  }

  /** Empty at version 0 before the first change. The same object until the next. */
  get current(): SiteZoneSet {
    return this.#deps.sets.site
  }

  /** Ids that the zones of groups have. */
  idsOfGroups(): ReadonlySet<string> {
    return new Set([...this.#deps.sets.own()].flatMap(({ zones }) => zones.map(({ id }) => id)))
  }

  /** The last sets people made, newest first: that one is in force. */
  versions(): ZoneVersionRow[] {
    return this.#deps.store.read.zoneVersions()
  }

  /**
   * Resolves when the zones are stored and published. Throws `duplicate_id` for an id that a zone of a group has,
   * `unknown_group`, `too_many_zones` and `too_large` for what devices of a group cannot be given.
   */
  replace(zones: readonly SiteZone[], change: ZonesChange): Promise<ChangedZones> {
    return this.#inTurn(change, () => {
      this.#requireGroups(zones)
      return zones
    })
  }

  /**
   * Puts a set that is kept in force again, as a new version; groups that it names may be gone. Throws
   * `version_not_found`.
   */
  restore(version: number, change: ZonesChange): Promise<ChangedZones> {
    return this.#inTurn(change, () => {
      const zonesJson = this.#deps.store.read.zonesOfVersion(version)
      if (zonesJson === null)
        throw new NotFoundError('version_not_found', `no set of zones with version ${version} is kept`)
      // written by this program only
      return fromSiteFeaturesJson(JSON.parse(zonesJson))
    })
  }

  /**
   * Switches zones on or off, until then. Resolves with the ids of those that the selection names when devices are
   * told. Throws `zone_not_found`, and as `replace` where devices have no room for what is switched on.
   */
  switch(
    selection: ZoneSelection,
    change: { isEnabled: boolean; untilMs: number | null; by: ZonesChange['by'] },
  ): Promise<{ version: number; zoneIds: string[] }> {
    const { turns, sets, clock } = this.#deps
    return turns.take(async () => {
      const { site } = sets
      const zoneIds = selectedIds(site.zones, selection)
      if (zoneIds.length === 0) return { version: site.version, zoneIds }
      const next = {
        version: site.version + 1,
        ...switchZones(site, new Set(zoneIds), { ...change, sinceMs: clock.nowMs() }),
      }
      await this.#requireRoom(next)
      await this.#saveSwitches(next, zoneIds)
      return { version: next.version, zoneIds }
    })
  }

  /** Undoes the switches whose time is over. */
  async expireOverrides(nowMs: number): Promise<void> {
    const { turns, sets } = this.#deps
    if (expireOverrides(sets.site, nowMs) === null) return
    await turns.take(async () => {
      const { site } = sets
      const undone = expireOverrides(site, nowMs)
      if (undone === null) return
      const over = [...site.switches.keys()].filter((zoneId) => !undone.switches.has(zoneId))
      await this.#saveSwitches({ version: site.version + 1, ...undone }, over)
    })
  }

  /** An erasure blanked names of those who switched zones. */
  reread(): void {
    const { store, sets } = this.#deps
    const row = store.read.zoneSet()
    if (row !== null) sets.setSite({ ...sets.site, switches: readZoneSet(row).switches })
  }

  #inTurn({ by, check }: ZonesChange, zonesOf: () => readonly SiteZone[]): Promise<ChangedZones> {
    const { turns, sets, clock } = this.#deps
    return turns.take(async () => {
      check?.(sets.site)
      const zones = sharedWith(sets.site.zones, zonesOf())
      for (const own of sets.own()) requireFreeIds(zones, own.zones, `group ${own.groupId}`)
      const set = { version: sets.site.version + 1, ...replaceZones(sets.site, zones) }
      await this.#requireRoom(set)
      const row = { atMs: clock.nowMs(), userId: by.userId, userName: by.name, count: zones.length }
      const keptJson = JSON.stringify(toSiteFeaturesJson(withoutSwitches(set)))
      await this.#save(set, (change, onWritten) =>
        this.#deps.store.write('saveZoneSet', { ...change, ...row, keptJson }, onWritten),
      )
      return { set, published: await this.#published(set) }
    })
  }

  async #saveSwitches(set: SiteZoneSet, zoneIds: readonly string[]): Promise<void> {
    const { sets, store } = this.#deps
    const was = enabledById(sets.site.zones)
    const is = enabledById(set.zones)
    const switched = zoneIds.map((zoneId) => ({
      zoneId,
      wasEnabled: was.get(zoneId) === true,
      isEnabled: is.get(zoneId) === true,
      untilMs: set.switches.get(zoneId)?.untilMs ?? null,
    }))
    await this.#save(set, (change, onWritten) => store.write('saveZoneSwitches', { ...change, switched }, onWritten))
  }

  /** Throws where devices cannot be given what they would have; those of a group that is made later are among them. */
  async #requireRoom(set: SiteZoneSet): Promise<void> {
    const { sets, messages, groups } = this.#deps
    const zones = zonesWithPendingOverrides(set)
    await requireRoom(sets.unionOf(zones, null), 'a new group', messages)
    for (const groupId of new Set([...groups.all(), ...sets.own()].map(({ groupId }) => groupId))) {
      await requireRoom(sets.unionOf(zones, groupId), `group ${groupId}`, messages)
      // devices are not to wait for all groups
      await nextTurn()
    }
  }

  async #plan({ zones }: SiteZoneSet): Promise<Plan[]> {
    const { sets, messages, groups } = this.#deps
    const plans: Plan[] = []
    for (const { groupId } of groups.all()) {
      const own = sets.ownOf(groupId)
      const union = sets.unionOf(zones, groupId)
      await messages.fitInTurns(union)
      const isChanged = own === undefined || !hasSameItems(union, sets.zonesOf(groupId))
      const version = (own?.version ?? 0) + (isChanged ? 1 : 0)
      plans.push({
        groupId,
        version,
        message: isChanged ? messages.messageOf(groupId, version, union) : null,
      })
      await nextTurn()
    }
    return plans
  }

  async #save(set: SiteZoneSet, write: (change: ZonesInForce, onWritten: () => void) => Promise<null>): Promise<null> {
    const { downlink, events, clock, sets } = this.#deps
    const plans = await this.#plan(set)
    const prepared = plans.flatMap(({ message }) => (message === null ? [] : [downlink.prepare(message)]))
    const row = {
      version: set.version,
      atMs: clock.nowMs(),
      zonesJson: JSON.stringify(toSiteFeaturesJson(set.zones)),
      switchesJson: JSON.stringify(toSwitchesBody(set.switches)),
      groups: plans.map(({ groupId, version }) => ({ groupId, version })),
    }
    return publishWith(prepared, (sessionChanges, commit) =>
      write({ ...row, sessionChanges }, () => {
        sets.setSite(set)
        for (const { groupId, version } of row.groups) {
          const known = sets.ownOf(groupId)
          const siteSince = known?.version === version ? known.siteSince : version
          sets.setOwn({ groupId, version, zones: known?.zones ?? [], siteVersion: set.version, siteSince })
        }
        commit()
        events.emit('zonesChanged', { version: set.version })
      }),
    )
  }

  async #published(set: SiteZoneSet): Promise<PublishedZones[]> {
    const { sets, messages, groups } = this.#deps
    const published: PublishedZones[] = []
    for (const { groupId } of groups.all()) {
      const own = sets.ownOf(groupId)
      // one that was made meanwhile gets them by itself
      if (own?.siteVersion !== set.version) continue
      const zones = sets.zonesOf(groupId)
      const { payload } = messages.messageOf(groupId, own.version, zones)
      const simplifiedM = messages.fit(zones).lossM
      published.push({ groupId, topic: zonesTopic(groupId), simplifiedM, bytes: Buffer.byteLength(payload) })
      await nextTurn()
    }
    return published
  }

  /** Throws `unknown_group` for a group that is named and never was, or is gone and was not named before. */
  #requireGroups(zones: readonly SiteZone[]): void {
    const { sets, groups } = this.#deps
    const named = new Set(sets.site.zones.flatMap((zone) => zone.groups ?? []))
    const errors = zones.flatMap((zone, i) =>
      (zone.groups ?? [])
        .filter((groupId) => !groups.has(groupId) && !named.has(groupId))
        .map((groupId) => ({
          in: 'body' as const,
          name: `features[${i}].properties.groups`,
          code: 'unknown_group',
          detail: `there is no group ${groupId}`,
        })),
    )
    const [first] = errors
    if (first !== undefined)
      throw new InvalidRequestError('unknown_group', `${first.name}: ${first.detail}`, errors.slice(0, 100))
  }
}

/** In the order of the zones. Throws `zone_not_found` for an id that none has. */
function selectedIds(zones: readonly SiteZone[], { zoneIds, types, holes }: ZoneSelection): string[] {
  const known = new Set(zones.map(({ id }) => id))
  const unknown = zoneIds?.find((zoneId) => !known.has(zoneId))
  if (unknown !== undefined) throw new NotFoundError('zone_not_found', `the site has no zone with the id ${unknown}`)
  return zones
    .filter(
      ({ id, type, hole }) =>
        zoneIds?.includes(id) === true ||
        types?.includes(type) === true ||
        (type !== 'hole' && hole !== null && holes?.includes(hole) === true),
    )
    .map(({ id }) => id)
}

function enabledById(zones: readonly SiteZone[]): Map<string, boolean> {
  return new Map(zones.map(({ id, isEnabled }) => [id, isEnabled]))
}

/** The zones with those that are as they were being the same objects: what was made of them need not be made again. */
function sharedWith(before: readonly SiteZone[], zones: readonly SiteZone[]): readonly SiteZone[] {
  const known = new Map(before.map((zone) => [zone.id, zone]))
  return zones.map((zone) => {
    const same = known.get(zone.id)
    return same !== undefined && isDeepStrictEqual(same, zone) ? same : zone
  })
}

function hasSameItems(one: readonly Zone[], other: readonly Zone[]): boolean {
  return one.length === other.length && one.every((zone, place) => zone === other[place])
}
