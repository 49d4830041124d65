import type { CartZoneContext, ZoneStay } from '#shared/carts/cart-state.ts'
import { staysOf } from '#shared/zones/stays.ts'
import type { Fix, WatchState } from '#shared/zones/watch.ts'
import { watchedZones } from '#shared/zones/watched-zones.ts'
import type { Device } from '../fleet.ts'
import type { Geofences } from '../zones/geofences.ts'
import type { WatchedSet } from '../zones/sets.ts'

/** The zones of a device of a cart: its own, which it is watched in, and those of the groups of the other devices. */
export interface DeviceZones {
  own: WatchedSet | null
  foreign: WatchedSet | null
}

/** Which zones count for a cart: those of the groups of all its devices. */
export class CartZones {
  readonly #geofences: Pick<Geofences, 'watchedOf'>
  /** By group, as it was when it was asked for first. */
  readonly #asked = new Map<number | null, WatchedSet | null>()
  readonly #foreign = new Map<string, { of: readonly (WatchedSet | null)[]; set: WatchedSet | null }>()

  constructor(geofences: Pick<Geofences, 'watchedOf'>) {
    this.#geofences = geofences
  }

  /** Of one of the devices of a cart. */
  of({ row: { groupId } }: Device, devices: readonly Device[]): DeviceZones {
    return { own: this.#watchedOf(groupId), foreign: this.#foreignOf(groupId, devices) }
  }

  /** What kinds of zones there are for a cart of these devices. */
  groundOf(devices: readonly Device[]): CartZoneContext {
    const ground = { hasParking: false, hasBoundary: false }
    for (const { row } of devices) {
      const types = this.#watchedOf(row.groupId)?.types
      if (types?.has('parking')) ground.hasParking = true
      if (types?.has('boundary')) ground.hasBoundary = true
    }
    return ground
  }

  /** Of stays of a device those in zones that count for these devices. */
  among(stays: readonly ZoneStay[], devices: readonly Device[]): readonly ZoneStay[] {
    const sets = devices.map(({ row }) => this.#watchedOf(row.groupId))
    const counts = ({ zoneId }: ZoneStay) => sets.some((set) => set?.zoneOf(zoneId) !== undefined)
    return stays.every(counts) ? stays : stays.filter(counts)
  }

  /** Whether any zones of those asked for are others since this was asked last. */
  takeChange(): boolean {
    let hasChanged = false
    for (const [groupId, asked] of this.#asked) {
      const now = this.#geofences.watchedOf(groupId)
      if (now === asked) continue
      this.#asked.set(groupId, now)
      hasChanged = true
    }
    return hasChanged
  }

  #watchedOf(groupId: number | null): WatchedSet | null {
    const set = this.#geofences.watchedOf(groupId)
    if (!this.#asked.has(groupId)) this.#asked.set(groupId, set)
    return set
  }

  /** Null where nothing counts beside its own, as for nearly all. */
  #foreignOf(groupId: number | null, devices: readonly Device[]): WatchedSet | null {
    if (devices.length === 1 || devices.every(({ row }) => row.groupId === groupId)) return null
    const groupIds = [...new Set(devices.map(({ row }) => row.groupId))].filter((id) => id !== groupId)
    const sets = [groupId, ...groupIds].map((id) => this.#watchedOf(id))
    const key = [groupId, ...groupIds].join(' ')
    const known = this.#foreign.get(key)
    if (known !== undefined && sets.every((set, i) => set === known.of[i])) return known.set
    const [own = null, ...others] = sets
    const set = beside(own, others)
    this.#foreign.set(key, { of: sets, set })
    return set
  }
}

/** The zones of other groups that are not among a device's own. */
function beside(own: WatchedSet | null, others: readonly (WatchedSet | null)[]): WatchedSet | null {
  const zones = others.flatMap((set) => set?.watched.zones.flatMap(({ id }) => set.zoneOf(id) ?? []) ?? [])
  const byId = new Map(zones.filter(({ id }) => own?.zoneOf(id) === undefined).map((zone) => [zone.id, zone]))
  if (byId.size === 0) return null
  const foreign = [...byId.values()]
  const holders = others.filter((set) => set !== null)
  return {
    watched: watchedZones(foreign),
    types: new Set(foreign.map(({ type }) => type)),
    zoneOf: (zoneId) => byId.get(zoneId),
    groupOf: (zoneId) => holders.find((set) => set.zoneOf(zoneId) !== undefined)?.groupOf(zoneId) ?? null,
  }
}

/** The zones of `set` that a device is in, by zone_id; `newest` is its newest position. */
export function staysIn(state: WatchState, set: WatchedSet | null, newest: Fix): ZoneStay[] {
  if (set === null) return []
  return staysOf(state, set.watched, newest).flatMap(({ zoneId, sinceMs }) => {
    const zone = set.zoneOf(zoneId)
    return zone === undefined ? [] : [{ zoneId, name: zone.name, type: zone.type, hole: zone.hole, sinceMs }]
  })
}
