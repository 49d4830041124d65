import OlMap from 'ol/Map.js'
import type { Pixel } from 'ol/pixel.js'
import View from 'ol/View.js'
import type { SavedView } from '#dashboard/live/kept-view.ts'
import { isTurned, type MapExtent } from './first-view.ts'
import type { Insets } from './placing.ts'

export const CLOSEST_ZOOM = 21
/** Zoom at which the path that a chosen cart is on can be recognised. */
const CART_ZOOM = 17.5
export const ZOOM_MS = 200
const ROOM_PX = 24

/** Visible part of the plane: until the user moves it, the whole course as large as the uncovered part allows. */
export class CourseView {
  // the padding of OpenLayers would not follow a rotated map
  readonly view = new View({ center: [0, 0], zoom: 2, maxZoom: CLOSEST_ZOOM, constrainRotation: false })
  insets: Insets
  #isMoved = false
  readonly #stillness = matchMedia('(prefers-reduced-motion: reduce)')

  constructor(insets: Insets) {
    this.insets = insets
  }

  /** Centre of the uncovered part, on the map's plane. */
  get center(): [x: number, y: number] {
    const [x = 0, y = 0] = this.view.getCenter() ?? []
    const [right, up] = this.#shift(this.view.getResolution() ?? 1)
    return [x + right, y + up]
  }

  /** View that the user has moved to; null for the whole course. */
  get kept(): SavedView | null {
    const [x, y] = this.view.getCenter() ?? []
    const zoom = this.view.getZoom()
    if (!this.#isMoved || x === undefined || y === undefined || zoom === undefined) return null
    return { center: [x, y], zoom, rotation: this.view.getRotation() }
  }

  restore({ center, zoom, rotation }: SavedView): void {
    this.moved()
    this.view.setCenter([...center])
    this.view.setZoom(zoom)
    this.view.setRotation(rotation)
  }

  /** Records that the user has moved it, so that it stays. */
  moved(): void {
    this.#isMoved = true
  }

  /** Forgets that the user has moved it. */
  forget(): void {
    this.#isMoved = false
  }

  zoomBy(steps: number): void {
    this.moved()
    this.view.animate({ zoom: (this.view.getZoom() ?? 0) + steps, duration: this.#ms() })
  }

  /** Fits the extent, rotated if it is larger then; returns true if it could. */
  fit(extent: MapExtent, [widthPx = 0, heightPx = 0]: readonly number[]): boolean {
    if (this.#isMoved || widthPx === 0 || heightPx === 0) return false
    const { top, right, bottom, left } = this.insets
    const seen = { widthPx: widthPx - left - right, heightPx: heightPx - top - bottom }
    this.view.setRotation(isTurned(extent, seen) ? Math.PI / 2 : 0)
    this.view.fit(extent, { padding: this.#padding() })
    return true
  }

  /** Shows this part of the plane as large as it fits. */
  show(extent: MapExtent): void {
    this.moved()
    this.view.fit(extent, { padding: this.#padding(), duration: this.#ms() })
  }

  /** Moves a place on the plane to the centre of the uncovered part, zoomed in enough for a cart. */
  bring(x: number, y: number): void {
    this.moved()
    const zoom = Math.max(this.view.getZoom() ?? 0, CART_ZOOM)
    const [right, up] = this.#shift(this.view.getResolutionForZoom(zoom))
    this.view.animate({ center: [x - right, y - up], zoom, duration: this.#ms() })
  }

  #ms(): number {
    return this.#stillness.matches ? 0 : ZOOM_MS
  }

  #padding(): number[] {
    const { top, right, bottom, left } = this.insets
    return [top + ROOM_PX, right + ROOM_PX, bottom + ROOM_PX, left + ROOM_PX]
  }

  /** Returns the offset of the uncovered part's centre from that of the map, on its plane. */
  #shift(resolution: number): [x: number, y: number] {
    const { top, right, bottom, left } = this.insets
    const rotation = this.view.getRotation()
    const across = ((left - right) / 2) * resolution
    const down = ((top - bottom) / 2) * resolution
    return [
      across * Math.cos(rotation) + down * Math.sin(rotation),
      across * Math.sin(rotation) - down * Math.cos(rotation),
    ]
  }
}

/**
 * Map that fingers move by whole screen pixels. Fingers are between pixels most of the time, and an image moved by part
 * of a pixel is smoothed: copying it takes three times as long without a graphics processor, and it is less sharp.
 */
export class WholePixelMap extends OlMap {
  override getEventPixel(event: Parameters<OlMap['getEventPixel']>[0]): Pixel {
    return super.getEventPixel(event).map((px) => Math.round(px * devicePixelRatio) / devicePixelRatio)
  }
}
