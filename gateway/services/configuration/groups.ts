import { describeError, NotFoundError } from '#shared/errors.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { GroupRow } from '#store/tables/groups.ts'
import type { Device, Fleet } from '../fleet.ts'
import type { Geofences } from '../zones/geofences.ts'
import type { ConfigLayers } from './layers.ts'
import type { ConfigPublisher } from './publisher.ts'

interface GroupsDeps {
  store: Pick<Store, 'read' | 'write'>
  fleet: Fleet
  /** Geofence sets, which share their ids with groups. */
  geofences: Pick<Geofences, 'versionOf' | 'highestId' | 'publishMissing' | 'emptyWith'>
  layers: ConfigLayers
  publisher: ConfigPublisher
  clock: Clock
  log: Log
}

/** Groups of devices, in memory. `device.row.groupId` assigns a device to its group. */
export class Groups {
  readonly #deps: GroupsDeps
  readonly #byId = new Map<number, GroupRow>()

  constructor(deps: GroupsDeps) {
    this.#deps = deps
  }

  load(): void {
    for (const row of this.#deps.store.read.groups()) this.#byId.set(row.groupId, row)
  }

  find(groupId: number): GroupRow | undefined {
    return this.#byId.get(groupId)
  }

  has(groupId: number): boolean {
    return this.#byId.has(groupId)
  }

  /** Throws `group_not_found`. */
  require(groupId: number): GroupRow {
    const group = this.#byId.get(groupId)
    if (group === undefined) throw new NotFoundError('group_not_found', `there is no group ${groupId}`)
    return group
  }

  /** Returns all groups by id. */
  all(): GroupRow[] {
    return [...this.#byId.values()].sort((a, b) => a.groupId - b.groupId)
  }

  /** Returns the devices of a group by hardware id. */
  devicesOf(groupId: number): Device[] {
    return this.#deps.fleet.all().filter(({ row }) => row.groupId === groupId)
  }

  /** Returns the number of devices in each group that has any. */
  deviceCounts(): Map<number, number> {
    const counts = new Map<number, number>()
    for (const { row } of this.#deps.fleet.all())
      if (row.groupId !== null) counts.set(row.groupId, 1 + (counts.get(row.groupId) ?? 0))
    return counts
  }

  geofenceVersionOf(groupId: number): number {
    return this.#deps.geofences.versionOf(groupId)
  }

  /** Creates a group. Geofences already stored under the id become those of the group. */
  async create(name: string, groupId: number | null): Promise<GroupRow> {
    const { store, geofences, clock } = this.#deps
    const input = { name, groupId, highestOtherId: geofences.highestId(), nowMs: clock.nowMs() }
    const row = await store.write('createGroup', input, (created) => this.#byId.set(created.groupId, created))
    await this.publishMissing()
    return row
  }

  async rename(groupId: number, name: string): Promise<GroupRow> {
    const { store, clock } = this.#deps
    const input = { groupId, name, nowMs: clock.nowMs() }
    return store.write('updateGroup', input, (row) => this.#byId.set(row.groupId, row))
  }

  /** Deletes a group with its configurations and geofences. Throws `group_not_empty` while it has devices. */
  async delete(groupId: number): Promise<void> {
    const { store, geofences, layers, publisher } = this.#deps
    await publisher.inTurn(() =>
      geofences.emptyWith(groupId, (geofenceSet, onEmptied) =>
        store.write('deleteGroup', { groupId, geofenceSet }, () => {
          this.#byId.delete(groupId)
          layers.forgetGroup(groupId)
          onEmptied()
        }),
      ),
    )
  }

  /** Publishes a set without zones for each group that has none; the next call repeats a failed one. */
  async publishMissing(): Promise<void> {
    const { geofences, log } = this.#deps
    try {
      await geofences.publishMissing(this.#byId.keys())
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'geofence publish for a new group failed; will retry later')
    }
  }
}
