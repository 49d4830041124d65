import OlMap from 'ol/Map.js'
import type { Pixel } from 'ol/pixel.js'
import View from 'ol/View.js'
import type { SavedView } from '#dashboard/live/kept-view.ts'
import { isTurned, type MapExtent } from './first-view.ts'
import type { Insets } from './placing.ts'

export const CLOSEST_ZOOM = 21
/** From here one sees which path a chosen cart is on. */
const CART_ZOOM = 17.5
export const ZOOM_MS = 200
const ROOM_PX = 24

/**
 * What part of the plane is seen. Until somebody moves it, it is the whole course, as large as it fits where nothing
 * covers the map.
 */
export class CourseView {
  // padding of its own would not follow a turned map
  readonly view = new View({ center: [0, 0], zoom: 2, maxZoom: CLOSEST_ZOOM, constrainRotation: false })
  insets: Insets
  #isMoved = false
  readonly #stillness = matchMedia('(prefers-reduced-motion: reduce)')

  constructor(insets: Insets) {
    this.insets = insets
  }

  /** The middle of what nothing covers, on the map's plane. */
  get center(): [x: number, y: number] {
    const [x = 0, y = 0] = this.view.getCenter() ?? []
    const [right, up] = this.#shift(this.view.getResolution() ?? 1)
    return [x + right, y + up]
  }

  /** Where somebody has moved it to; null for the whole course. */
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

  /** Somebody has moved it: it stays as it is. */
  moved(): void {
    this.#isMoved = true
  }

  /** Nobody has. */
  forget(): void {
    this.#isMoved = false
  }

  zoomBy(steps: number): void {
    this.moved()
    this.view.animate({ zoom: (this.view.getZoom() ?? 0) + steps, duration: this.#ms() })
  }

  /** As large as it fits, and turned where it is larger then; returns whether it did. */
  fit(extent: MapExtent, [widthPx = 0, heightPx = 0]: readonly number[]): boolean {
    if (this.#isMoved || widthPx === 0 || heightPx === 0) return false
    const { top, right, bottom, left } = this.insets
    const seen = { widthPx: widthPx - left - right, heightPx: heightPx - top - bottom }
    this.view.setRotation(isTurned(extent, seen) ? Math.PI / 2 : 0)
    this.view.fit(extent, { padding: this.#padding() })
    return true
  }

  /** This part of the plane, as large as it fits. */
  show(extent: MapExtent): void {
    this.moved()
    this.view.fit(extent, { padding: this.#padding(), duration: this.#ms() })
  }

  /** A place on the plane in the middle of what nothing covers, close enough for a cart. */
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

  /** How far the middle of what nothing covers is from the middle of the map, on its plane. */
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
 * A map that fingers move by whole pixels of the screen. They are between pixels most of the time, and an image that is
 * moved by a part of one is smoothed: to copy it takes three times as long without a graphics processor, and it is less
 * sharp.
 */
export class WholePixelMap extends OlMap {
  override getEventPixel(event: Parameters<OlMap['getEventPixel']>[0]): Pixel {
    return super.getEventPixel(event).map((px) => Math.round(px * devicePixelRatio) / devicePixelRatio)
  }
}
