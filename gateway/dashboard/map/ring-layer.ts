import Feature from 'ol/Feature.js'
import LineString from 'ol/geom/LineString.js'
import MultiPoint from 'ol/geom/MultiPoint.js'
import Polygon from 'ol/geom/Polygon.js'
import PointerInteraction from 'ol/interaction/Pointer.js'
import VectorLayer from 'ol/layer/Vector.js'
import type MapBrowserEvent from 'ol/MapBrowserEvent.js'
import VectorSource from 'ol/source/Vector.js'
import CircleSign from 'ol/style/Circle.js'
import Fill from 'ol/style/Fill.js'
import Stroke from 'ol/style/Stroke.js'
import Style from 'ol/style/Style.js'
import { TAP_PX } from './placing.ts'
import { CORNERS_MAX, middlesOf, nearest, type Place, withInserted, withMoved } from './zone-shape.ts'

interface RingLayerDeps {
  /** Called once the finger is lifted after a corner was moved or inserted. */
  onChange: (corners: readonly Place[]) => void
  /** Called when a corner is tapped, which may then be cut. */
  onCorner: (at: number) => void
}

interface Given {
  ring: readonly Place[]
  isOpen: boolean
  /** Corner that was tapped last; -1 for none. */
  at: number
}

/**
 * Editable corners of one polygon: a corner can be moved, and a new one pulled out between two. Only this polygon is
 * drawn with each frame; all others are an image (`zone-layer`).
 */
export class RingLayer {
  readonly #deps: RingLayerDeps
  readonly #area = new Feature()
  readonly #corners = new Feature()
  readonly #middles = new Feature()
  readonly #held = new Feature()
  readonly layer = new VectorLayer({
    source: new VectorSource({ features: [this.#area, this.#middles, this.#corners, this.#held] }),
    updateWhileInteracting: true,
    updateWhileAnimating: true,
    style: (feature) => this.#styles.get(feature),
    zIndex: 2,
  })
  readonly #styles = new Map<unknown, Style | Style[]>([
    [this.#area, AREA],
    [this.#corners, CORNER],
    [this.#middles, MIDDLE],
    [this.#held, HELD],
  ])
  readonly interaction = new PointerInteraction({
    handleDownEvent: (event) => this.#down(event),
    handleDragEvent: ({ coordinate: [x = 0, y = 0] }) => this.#drag([x, y]),
    handleUpEvent: () => this.#up(),
  })
  #ring: readonly Place[] = []
  #isOpen = false
  #given: Given = { ring: [], isOpen: false, at: -1 }
  #isHeld = false
  #at = -1
  /** Corner before which a new one is pulled out; -1 for none, and once it is inserted. */
  #between = -1
  #hasMoved = false

  constructor(deps: RingLayerDeps) {
    this.#deps = deps
  }

  /** `at` is the corner that was tapped last; an open ring is still being drawn. */
  show(ring: readonly Place[], { at, isOpen }: { at: number; isOpen: boolean }): void {
    this.#given = { ring, isOpen, at }
    // a dragged polygon is updated when the finger is lifted
    if (!this.#isHeld) this.#take(this.#given)
  }

  #take({ ring, isOpen, at }: Given): void {
    this.#ring = ring
    this.#isOpen = isOpen
    this.#draw(at)
  }

  #draw(at: number): void {
    const ring = this.#ring.map((place) => [...place])
    const held = ring[at]
    const line = this.#isOpen ? new LineString(ring) : new Polygon([[...ring, ...ring.slice(0, 1)]])
    this.#area.setGeometry(ring.length < 2 ? undefined : line)
    this.#corners.setGeometry(ring.length === 0 ? undefined : new MultiPoint(ring))
    const middles = this.#isOpen || ring.length < 3 ? [] : middlesOf(this.#ring).map((place) => [...place])
    this.#middles.setGeometry(middles.length === 0 ? undefined : new MultiPoint(middles))
    this.#held.setGeometry(held === undefined ? undefined : new MultiPoint([held]))
  }

  #down({ coordinate: [x = 0, y = 0], map }: MapBrowserEvent): boolean {
    const resolution = map.getView().getResolution()
    if (resolution === undefined || this.#ring.length === 0) return false
    const place: Place = [x, y]
    const reach = TAP_PX * resolution
    this.#hasMoved = false
    this.#at = nearest(this.#ring, place, reach)
    const mayGrow = !this.#isOpen && this.#ring.length >= 3 && this.#ring.length < CORNERS_MAX
    this.#between = this.#at < 0 && mayGrow ? nearest(middlesOf(this.#ring), place, reach) : -1
    this.#isHeld = this.#at >= 0 || this.#between >= 0
    return this.#isHeld
  }

  #drag(place: Place): void {
    if (this.#between >= 0) {
      this.#ring = withInserted(this.#ring, this.#between, place)
      this.#at = this.#between
      this.#between = -1
    }
    this.#hasMoved = true
    this.#ring = withMoved(this.#ring, this.#at, place)
    this.#draw(this.#at)
  }

  #up(): boolean {
    this.#isHeld = false
    if (this.#hasMoved) this.#deps.onChange(this.#ring)
    else this.#take(this.#given)
    // after a pull on an open ring the next tap adds a new corner
    if (!this.#hasMoved || !this.#isOpen) this.#deps.onCorner(this.#at)
    return false
  }
}

// blue within white is visible on pale and on dark maps
const AREA = [
  new Style({ stroke: new Stroke({ color: '#ffffff', width: 8 }) }),
  new Style({ fill: new Fill({ color: '#0b4fb340' }), stroke: new Stroke({ color: '#0b4fb3', width: 4 }) }),
]
const CORNER = sign(9, '#ffffff', '#0b4fb3', 4)
const MIDDLE = sign(6, '#0b4fb3', '#ffffff', 2)
const HELD = sign(13, '#ffb000', '#10160c', 4)

function sign(radius: number, fill: string, stroke: string, width: number): Style {
  return new Style({
    image: new CircleSign({
      radius,
      fill: new Fill({ color: fill }),
      stroke: new Stroke({ color: stroke, width }),
    }),
  })
}
