import type { CartZoneContext, ZoneStay } from '#shared/carts/cart-state.ts'
import { staysOf } from '#shared/zones/stays.ts'
import type { Fix, WatchState } from '#shared/zones/watch.ts'
import { watchedZones } from '#shared/zones/watched-zones.ts'
import type { Device } from '../fleet.ts'
import type { Geofences } from '../zones/geofences.ts'
import type { WatchedSet } from '../zones/sets.ts'

/** Zones of a device in a cart: its own, in which ingestion watches it, and those of the other devices' groups. */
export interface DeviceZones {
  own: WatchedSet | null
  foreign: WatchedSet | null
}

/** Zones that apply to carts: those of the groups of all their devices. */
export class CartZones {
  readonly #geofences: Pick<Geofences, 'watchedOf'>
  /** Zones at the last `takeChange` or the first request, keyed by group. */
  readonly #asked = new Map<number | null, WatchedSet | null>()
  readonly #foreign = new Map<string, { of: readonly (WatchedSet | null)[]; set: WatchedSet | null }>()

  constructor(geofences: Pick<Geofences, 'watchedOf'>) {
    this.#geofences = geofences
  }

  of({ row: { groupId } }: Device, devices: readonly Device[]): DeviceZones {
    return { own: this.#watchedOf(groupId), foreign: this.#foreignOf(groupId, devices) }
  }

  /** Returns the kinds of zones that apply to a cart with these devices. */
  zoneContextOf(devices: readonly Device[]): CartZoneContext {
    const context = { hasParking: false, hasBoundary: false }
    for (const { row } of devices) {
      const types = this.#watchedOf(row.groupId)?.types
      if (types?.has('parking')) context.hasParking = true
      if (types?.has('boundary')) context.hasBoundary = true
    }
    return context
  }

  /** Filters a device's dwells to zones that apply to these devices. */
  among(stays: readonly ZoneStay[], devices: readonly Device[]): readonly ZoneStay[] {
    const sets = devices.map(({ row }) => this.#watchedOf(row.groupId))
    const counts = ({ zoneId }: ZoneStay) => sets.some((set) => set?.zoneOf(zoneId) !== undefined)
    return stays.every(counts) ? stays : stays.filter(counts)
  }

  /** True if any of the requested zones changed since the last call. */
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

  /** Returns null if only its own zones apply, the usual case. */
  #foreignOf(groupId: number | null, devices: readonly Device[]): WatchedSet | null {
    if (devices.length === 1 || devices.every(({ row }) => row.groupId === groupId)) return null
    const groupIds = [...new Set(devices.map(({ row }) => row.groupId))].filter((id) => id !== groupId)
    const sets = [groupId, ...groupIds].map((id) => this.#watchedOf(id))
    const key = [groupId, ...groupIds].join(' ')
    const known = this.#foreign.get(key)
    if (known !== undefined && sets.every((set, i) => set === known.of[i])) return known.set
    const [own = null, ...others] = sets
    const set = zonesOfOthers(own, others)
    this.#foreign.set(key, { of: sets, set })
    return set
  }
}

/** Returns the zones of other groups that are not among a device's own. */
function zonesOfOthers(own: WatchedSet | null, others: readonly (WatchedSet | null)[]): WatchedSet | null {
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

/** Returns the zones of `set` that a device is in, ordered by id; `newest` is its newest position. */
export function staysIn(state: WatchState, set: WatchedSet | null, newest: Fix): ZoneStay[] {
  if (set === null) return []
  return staysOf(state, set.watched, newest).flatMap(({ zoneId, sinceMs }) => {
    const zone = set.zoneOf(zoneId)
    if (zone === undefined) return []
    const { name, type, hole } = zone
    return [{ zoneId, name, type, hole, ...(zone.locksHere ? { locksHere: true } : {}), sinceMs }]
  })
}
