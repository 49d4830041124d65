/** What part of the map's plane is seen. */
export interface SavedView {
  center: readonly [x: number, y: number]
  zoom: number
  /** Clockwise, radians. */
  rotation: number
}
