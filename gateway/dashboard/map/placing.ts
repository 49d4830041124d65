import type { Marker, Markers, ParkingCluster } from './markers.ts'

/** From the map's plane to the screen: x' = a x + c y + e, y' = b x + d y + f. */
export type Affine = readonly [a: number, b: number, c: number, d: number, e: number, f: number]

/** Pixels at the edges that something else covers. */
export interface Insets {
  top: number
  right: number
  bottom: number
  left: number
}

/** A part of the screen. */
export interface Box {
  left: number
  top: number
  right: number
  bottom: number
}

export interface Screen {
  transform: Affine
  widthPx: number
  heightPx: number
  insets: Insets
  /** The buttons in the lower right of the map; null for none. */
  buttons: Box | null
  /** Pixels for one unit of the plane. */
  scale: number
  isClosest: boolean
}

/** Half of the largest sign. */
const SIGN_PX = 30
/** Signs are drawn that far beyond the edges of the map, for when it is moved. */
export const ROOM_PX = 96
/** A thumb finds a cart that is no farther away. */
export const TAP_PX = 26
/** As far from the edge as a sign of a cart that is beyond it. */
const EDGE_PX = 24

/**
 * Says of every marker and pill where it is on the screen, and whether it is drawn. The chosen one is never in a pill.
 */
export function place(markers: Markers, screen: Screen, chosen: string | null): void {
  for (const pill of markers.pills) placePill(pill, screen)
  const [a, b, c, d, e, f] = screen.transform
  for (const marker of markers.all) {
    marker.px = a * marker.x + c * marker.y + e
    marker.py = b * marker.x + d * marker.y + f
    const isChosen = marker.cart.cart === chosen
    marker.isShown = isChosen || marker.pill === null || !marker.pill.isShown
    if (marker.look === 'outside') toEdge(marker, screen)
    else if (marker.isShown) marker.isShown = isSeen(marker, screen)
  }
}

/** The marker nearest to a tap, or none within `TAP_PX`; of two as near the one drawn above. */
export function markerAt(markers: Markers, px: number, py: number): Marker | null {
  let nearest: Marker | null = null
  let nearestPx = TAP_PX
  for (const marker of markers.all) {
    if (!marker.isShown) continue
    const distancePx = Math.hypot(marker.px - px, marker.py - py)
    if (distancePx > nearestPx) continue
    nearest = marker
    nearestPx = distancePx
  }
  return nearest
}

/** All markers that a tap may mean, the nearest first: golf carts go in pairs, and one hides the other. */
export function markersAt(markers: Markers, px: number, py: number): Marker[] {
  const nearest = markerAt(markers, px, py)
  if (nearest === null) return []
  const others = markers.all.filter(
    (marker) => marker !== nearest && marker.isShown && Math.hypot(marker.px - px, marker.py - py) <= 2 * TAP_PX,
  )
  return [nearest, ...others]
}

/** The pill below a tap. */
export function pillAt(markers: Markers, px: number, py: number): ParkingCluster | null {
  for (const pill of markers.pills) {
    const isInside = Math.abs(pill.px - px) <= pill.halfWidthPx && Math.abs(pill.py - py) <= TAP_PX
    if (pill.isShown && isInside) return pill
  }
  return null
}

/** Whether a place is where nothing covers it. */
export function isInView(
  { px, py }: { px: number; py: number },
  { widthPx, heightPx, insets, buttons }: Screen,
): boolean {
  return (
    !isBelow({ px, py }, buttons) &&
    px >= insets.left + EDGE_PX &&
    px <= widthPx - insets.right - EDGE_PX &&
    py >= insets.top + EDGE_PX &&
    py <= heightPx - insets.bottom - EDGE_PX
  )
}

/** Closer than that all its carts have room, each with its own sign. */
function placePill(pill: ParkingCluster, { transform, scale, isClosest, widthPx, heightPx }: Screen): void {
  const [a, b, c, d, e, f] = transform
  const [x, y] = [(pill.west + pill.east) / 2, (pill.south + pill.north) / 2]
  pill.px = a * x + c * y + e
  pill.py = b * x + d * y + f
  const spreadPx = Math.hypot(pill.east - pill.west, pill.north - pill.south) * scale
  const roomPx = Math.min(36 * Math.sqrt(pill.count), 0.7 * Math.min(widthPx, heightPx))
  pill.isShown = !isClosest && spreadPx < roomPx
}

function isSeen({ px, py }: Marker, { widthPx, heightPx }: Screen): boolean {
  const beyondPx = SIGN_PX + ROOM_PX
  return px > -beyondPx && py > -beyondPx && px < widthPx + beyondPx && py < heightPx + beyondPx
}

/** A cart that has left the course is seen in any case: at the edge, on its side, beside the buttons. */
function toEdge(marker: Marker, { widthPx, heightPx, insets, buttons }: Screen): void {
  const [left, right] = [insets.left + EDGE_PX, widthPx - insets.right - EDGE_PX]
  const [top, bottom] = [insets.top + EDGE_PX, heightPx - insets.bottom - EDGE_PX]
  marker.px = Math.max(left, Math.min(right, marker.px))
  marker.py = Math.max(top, Math.min(bottom, marker.py))
  marker.isShown = true
  if (buttons === null || !isBelow(marker, buttons)) return
  const [outLeft, outTop] = [buttons.left - EDGE_PX, buttons.top - EDGE_PX]
  if (marker.px - outLeft < marker.py - outTop) marker.px = outLeft
  else marker.py = outTop
}

/** Whether a sign there is hidden, even in part. */
function isBelow({ px, py }: { px: number; py: number }, box: Box | null): boolean {
  if (box === null) return false
  const isBeside = px <= box.left - EDGE_PX || px >= box.right + EDGE_PX
  return !isBeside && py > box.top - EDGE_PX && py < box.bottom + EDGE_PX
}
