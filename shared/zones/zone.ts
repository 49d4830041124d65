import type { ZoneType } from '#shared/wire/geofences.ts'
import type { Point } from './geometry.ts'

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
