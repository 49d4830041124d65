import type { Point } from './geometry.ts'

/** Zone types: behaviour of carts inside, or display only. */
export const ZONE_TYPES = ['alert', 'stop', 'slow', 'parking', 'message', 'boundary', 'hole'] as const
export type ZoneType = (typeof ZONE_TYPES)[number]

/** Simple polygon, whose ring does not repeat the first point, or circle. */
export type ZoneShape = { kind: 'polygon'; ring: readonly Point[] } | { kind: 'circle'; center: Point; radiusM: number }

/** Area of the course, in the site's set or in a group's own. */
export interface Zone {
  id: string
  name: string
  type: ZoneType
  isEnabled: boolean
  isVisible: boolean
  message: string | null
  maxSpeedKmh: number | null
  hole: number | null
  /** True if a cart that stands in it for too long may be locked; else absent. */
  locksHere?: true
  shape: ZoneShape
}

/** Maximum number of zones in the site's set, over all groups. */
export const SITE_ZONES_MAX = 500

/** Zone of the site's set: it applies to these groups, or to every device if `groups` is null. */
export interface SiteZone extends Zone {
  groups: readonly number[] | null
}

/** Returns the zones of a site that apply to a device of this group, or of none. */
export function zonesForGroup(zones: readonly SiteZone[], groupId: number | null): readonly SiteZone[] {
  // usually the same array for all groups, so that derived data is built once
  if (zones.every(({ groups }) => groups === null)) return zones
  return zones.filter(({ groups }) => groups === null || (groupId !== null && groups.includes(groupId)))
}
