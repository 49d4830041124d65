import type { Point } from './geometry.ts'

/** What a zone is for: what carts do in it, or what people see. */
export const ZONE_TYPES = ['alert', 'stop', 'slow', 'parking', 'message', 'boundary', 'hole'] as const
export type ZoneType = (typeof ZONE_TYPES)[number]

/** A simple polygon, its ring not closed by repeating the first point; or a circle. */
export type ZoneShape = { kind: 'polygon'; ring: readonly Point[] } | { kind: 'circle'; center: Point; radiusM: number }

/** One area of the course, of the site's set or of a group's own. */
export interface Zone {
  id: string
  name: string
  type: ZoneType
  isEnabled: boolean
  isVisible: boolean
  message: string | null
  maxSpeedKmh: number | null
  hole: number | null
  shape: ZoneShape
}

/** Zones of the site's set, whatever group they are for. */
export const SITE_ZONES_MAX = 500

/** A zone of the site's set: it counts for these groups, or for every device where `groups` is null. */
export interface SiteZone extends Zone {
  groups: readonly number[] | null
}

/** The zones of a site that count for a device of this group, or of none. */
export function zonesForGroup(zones: readonly SiteZone[], groupId: number | null): readonly SiteZone[] {
  // the same array for all groups, mostly: what is made of it is made once
  if (zones.every(({ groups }) => groups === null)) return zones
  return zones.filter(({ groups }) => groups === null || (groupId !== null && groups.includes(groupId)))
}
