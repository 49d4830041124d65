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

/** Author and precondition of a change of the site's zones. */
export interface ZonesChange {
  by: { userId: string; name: string }
  /** Runs just before the change, and cancels it by throwing. */
  check?: ((current: SiteZoneSet) => void) | undefined
}

/** Zones to override: exactly one of these fields. Holes select zones of any other type that belong to them. */
export interface ZoneSelection {
  zoneIds?: readonly string[] | undefined
  types?: readonly ZoneType[] | undefined
  holes?: readonly number[] | undefined
}

/** Zones published to the teeboxes of a group. */
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

/** Planned message of a group for the new zones of the site. */
interface Plan {
  groupId: number
  version: number
  /** Message for its teeboxes if it differs from the current one. */
  message: ReturnType<ZoneMessages['messageOf']> | null
}

/**
 * Zones of the site: one set for all groups. A change is one transaction with the retained messages of all groups whose
 * zones it changes, queued among the changes of groups' own zones.
 */
export class Zones {
  readonly #deps: ZonesDeps

  constructor(deps: ZonesDeps) {
    this.#deps = deps
  }

  /** Current set; empty at version 0 before the first change. The same object until the next. */
  get current(): SiteZoneSet {
    return this.#deps.sets.site
  }

  idsOfGroups(): ReadonlySet<string> {
    return new Set([...this.#deps.sets.own()].flatMap(({ zones }) => zones.map(({ id }) => id)))
  }

  /** Returns the last sets that users stored, newest first; the first is in force. */
  versions(): ZoneVersionRow[] {
    return this.#deps.store.read.zoneVersions()
  }

  /**
   * Resolves when the zones are stored and published. Throws `duplicate_id` for an id of a zone of a group,
   * `unknown_group`, `too_many_zones` and `too_large` if the zones do not fit into the devices of a group.
   */
  replace(zones: readonly SiteZone[], change: ZonesChange): Promise<ChangedZones> {
    return this.#inTurn(change, () => {
      this.#requireGroups(zones)
      return zones
    })
  }

  /** Restores a stored set as a new version; groups that it names may have been deleted. Throws `version_not_found`. */
  restore(version: number, change: ZonesChange): Promise<ChangedZones> {
    return this.#inTurn(change, () => {
      const zonesJson = this.#deps.store.read.zonesOfVersion(version)
      if (zonesJson === null)
        throw new NotFoundError('version_not_found', `there is no stored set of zones with version ${version}`)
      // written only by this program
      return fromSiteFeaturesJson(JSON.parse(zonesJson))
    })
  }

  /**
   * Turns zones on or off until a time. Resolves with the ids of the selected zones once the messages to devices are
   * queued. Throws `zone_not_found`, and like `replace` if the zones turned on do not fit into the devices.
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

  /** Reads the overrides again after an erasure blanked the names of their authors. */
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

  /** Throws if the zones would not fit into the devices; includes those of groups created later. */
  async #requireRoom(set: SiteZoneSet): Promise<void> {
    const { sets, messages, groups } = this.#deps
    const zones = zonesWithPendingOverrides(set)
    await requireRoom(sets.unionOf(zones, null), 'a new group', messages)
    for (const groupId of new Set([...groups.all(), ...sets.own()].map(({ groupId }) => groupId))) {
      await requireRoom(sets.unionOf(zones, groupId), `group ${groupId}`, messages)
      // devices must not wait until all groups are checked
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
      // a group created meanwhile is published with the new zones automatically
      if (own?.siteVersion !== set.version) continue
      const zones = sets.zonesOf(groupId)
      const { payload } = messages.messageOf(groupId, own.version, zones)
      const simplifiedM = messages.fit(zones).lossM
      published.push({ groupId, topic: zonesTopic(groupId), simplifiedM, bytes: Buffer.byteLength(payload) })
      await nextTurn()
    }
    return published
  }

  /** Throws `unknown_group` for a named group that never existed, or that was deleted and not named before. */
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

/** Returns the ids in the order of the zones. Throws `zone_not_found` for an unknown id. */
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

/** Returns the zones with unchanged ones as the same objects, so that derived values stay valid. */
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
