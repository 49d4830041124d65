import type { Marker, Markers, ParkingCluster } from './markers.ts'

/** Transformation from the map's plane to the screen: x' = a x + c y + e, y' = b x + d y + f. */
export type Affine = readonly [a: number, b: number, c: number, d: number, e: number, f: number]

/** Pixels that are covered at each edge. */
export interface Insets {
  top: number
  right: number
  bottom: number
  left: number
}

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
  /** Buttons in the lower right of the map; null if none. */
  buttons: Box | null
  /** Pixels for one unit of the plane. */
  scale: number
  isClosest: boolean
  /** True if carts without a problem are dots, because their numbers would overlap. */
  isFar: boolean
}

/** Half of the largest sign. */
const SIGN_PX = 30
/** Margin beyond the edges of the map in which signs are drawn, for when it is moved. */
export const ROOM_PX = 96
/** Maximum distance between a tap and the cart that it finds. */
export const TAP_PX = 26
/** Distance from the edge of the sign of a cart that is beyond it. */
const EDGE_PX = 24

/** Half of the height of a cluster's sign. */
const PILL_PX = 16
/** Distance from which the number of a sign is readable next to another sign. */
const READABLE_PX = 26
/** Half of the distance of two signs that are placed next to each other. */
const PAIR_PX = 17

/**
 * Computes for each marker and cluster its screen position and visibility. The chosen marker is never in a cluster, nor
 * below another one.
 */
export function place(markers: Markers, screen: Screen, chosen: string | null): void {
  for (const pill of markers.pills) placePill(pill, screen)
  const pills = [...markers.pills].filter(({ isShown }) => isShown)
  const [a, b, c, d, e, f] = screen.transform
  for (const marker of markers.all) {
    marker.px = a * marker.x + c * marker.y + e
    marker.py = b * marker.x + d * marker.y + f
    const isChosen = marker.cart.cart === chosen
    marker.isShown = isChosen || marker.pill === null || !marker.pill.isShown
    if (marker.style === 'outside') toEdge(marker, screen)
    else if (marker.isShown) marker.isShown = isSeen(marker, screen)
    if (marker.isShown && !isChosen) for (const pill of pills) keepOff(pill, marker)
  }
  stack(markers.all, screen.isFar ? null : READABLE_PX, chosen)
}

/** Moves a sign that would hide the counts of a cluster above it. */
function keepOff(pill: ParkingCluster, marker: Marker): void {
  const [besidePx, belowPx] = [pill.halfWidthPx + READABLE_PX / 2, PILL_PX + READABLE_PX / 2]
  if (Math.abs(marker.px - pill.px) < besidePx && Math.abs(marker.py - pill.py) < belowPx)
    marker.py = pill.py - PILL_PX - READABLE_PX
}

/** Places two signs nearer than `withinPx` next to each other; of more, the topmost hides and counts the others. */
function stack(all: readonly Marker[], withinPx: number | null, chosen: string | null): void {
  const pairs = new Map<Marker, Marker>()
  const cells = new Map<number, Marker[]>()
  for (let at = all.length - 1; at >= 0; at--) {
    const marker = all[at]
    if (marker === undefined) continue
    marker.below = 0
    marker.top = null
    if (withinPx === null || !marker.isShown || marker.cart.cart === chosen) continue
    const [column, row] = [Math.floor(marker.px / withinPx), Math.floor(marker.py / withinPx)]
    marker.top = topOf(cells, marker, { column, row, withinPx })
    if (marker.top === null) {
      const cell = cells.get(cellKey(column, row))
      if (cell === undefined) cells.set(cellKey(column, row), [marker])
      else cell.push(marker)
    } else {
      pairs.set(marker.top, marker)
      marker.top.below += 1
      marker.isShown = false
    }
  }
  for (const [top, other] of pairs) if (top.below === 1) separate(top, other)
}

/** Golf carts travel in pairs: both numbers stay readable. */
function separate(top: Marker, other: Marker): void {
  const middlePx = (top.px + other.px) / 2
  const [left, right] = top.px < other.px ? [top, other] : [other, top]
  left.px = middlePx - PAIR_PX
  right.px = middlePx + PAIR_PX
  other.py = top.py
  top.below = 0
  other.top = null
  other.isShown = true
}

interface Cell {
  column: number
  row: number
  withinPx: number
}

function topOf(
  cells: ReadonlyMap<number, Marker[]>,
  { px, py }: Marker,
  { column, row, withinPx }: Cell,
): Marker | null {
  for (let x = column - 1; x <= column + 1; x++)
    for (let y = row - 1; y <= row + 1; y++) {
      const top = cells.get(cellKey(x, y))?.find((one) => Math.hypot(one.px - px, one.py - py) < withinPx)
      if (top !== undefined) return top
    }
  return null
}

function cellKey(column: number, row: number): number {
  return column * 65_536 + row
}

/** Returns the marker nearest to a tap, null if none is within `TAP_PX`; at equal distance the one drawn on top. */
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

/** Returns all markers that a tap may mean, nearest first: golf carts travel in pairs, and one hides the other. */
export function markersAt(markers: Markers, px: number, py: number): Marker[] {
  const nearest = markerAt(markers, px, py)
  if (nearest === null) return []
  const below = markers.all.filter(({ top }) => top === nearest)
  const others = markers.all.filter(
    (marker) => marker !== nearest && marker.isShown && Math.hypot(marker.px - px, marker.py - py) <= 2 * TAP_PX,
  )
  return [nearest, ...below, ...others]
}

/** Returns the cluster below a tap. */
export function pillAt(markers: Markers, px: number, py: number): ParkingCluster | null {
  for (const pill of markers.pills) {
    const isInside = Math.abs(pill.px - px) <= pill.halfWidthPx && Math.abs(pill.py - py) <= TAP_PX
    if (pill.isShown && isInside) return pill
  }
  return null
}

/** True if a place is in the uncovered part. */
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

/** Places a cluster; at closer zooms its carts have enough space for separate signs. */
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

/** Moves a cart that has left the course to the nearest edge, next to the buttons, so that it is always visible. */
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

/** True if a sign there is hidden, even partly. */
function isBelow({ px, py }: { px: number; py: number }, box: Box | null): boolean {
  if (box === null) return false
  const isNextToIt = px <= box.left - EDGE_PX || px >= box.right + EDGE_PX
  return !isNextToIt && py > box.top - EDGE_PX && py < box.bottom + EDGE_PX
}
