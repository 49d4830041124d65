/** Visible section of the map's plane. */
export interface SavedView {
  center: readonly [x: number, y: number]
  zoom: number
  /** Clockwise, in radians. */
  rotation: number
}
