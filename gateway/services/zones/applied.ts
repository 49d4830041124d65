import type { Cart } from '../cart.ts'
import type { Device } from '../fleet.ts'
import type { ZoneSets } from './sets.ts'

interface ZonesAppliedDeps {
  sets: Pick<ZoneSets, 'site' | 'ownOf'>
  groups: { has(groupId: number): boolean }
}

/** Device type that acknowledges zones; others download them. */
const ACKNOWLEDGING_TYPE = 'teebox'

/** Carts that have the zones of the site, according to the acknowledgements of their teeboxes. */
export class ZonesApplied {
  readonly #deps: ZonesAppliedDeps

  constructor(deps: ZonesAppliedDeps) {
    this.#deps = deps
  }

  /** Returns the carts by state; those without a teebox in a group are in neither list. */
  of(carts: readonly Cart[]): { version: number; applied: string[]; waiting: string[] } {
    const lists = { version: this.#deps.sets.site.version, applied: [] as string[], waiting: [] as string[] }
    for (const { key, devices } of carts) {
      const teeboxes = devices.filter((device) => this.#isAcknowledging(device))
      if (teeboxes.length === 0) continue
      const has = teeboxes.every((device) => this.#hasApplied(device))
      lists[has ? 'applied' : 'waiting'].push(key)
    }
    return lists
  }

  #isAcknowledging({ row: { deviceType, groupId } }: Device): boolean {
    return deviceType === ACKNOWLEDGING_TYPE && groupId !== null && this.#deps.groups.has(groupId)
  }

  #hasApplied({ row: { groupId, otherGroupAckMs }, reported }: Device): boolean {
    const { sets } = this.#deps
    const known = groupId === null ? undefined : sets.ownOf(groupId)
    const acknowledged = reported.state.applied.sz
    // an acknowledgement from before the device joined the group concerns zones of another group
    if (known === undefined || acknowledged === undefined || acknowledged.atMs === otherGroupAckMs) return false
    const { version, siteVersion, siteSince } = known
    // a version above the current one dates from before a restore
    const isKnown = acknowledged.version >= siteSince && acknowledged.version <= version
    return siteVersion === sets.site.version && isKnown
  }
}
