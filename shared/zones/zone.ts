import type { Point } from './geometry.ts'

/** What a zone is for: what carts do in it, or what people see. */
export const ZONE_TYPES = ['alert', 'stop', 'slow', 'parking', 'message', 'boundary', 'hole'] as const
export type ZoneType = (typeof ZONE_TYPES)[number]

/** A simple polygon, its ring not closed by repeating the first point; or a circle. */
export type ZoneShape =
  | { kind: 'polygon'; ring: readonly Point[] }
  | { kind: 'circle'; center: Point; radiusM: number }

/** One area of a group's geofences. */
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
