import Feature from 'ol/Feature.js'
import Point from 'ol/geom/Point.js'
import PointerInteraction from 'ol/interaction/Pointer.js'
import VectorLayer from 'ol/layer/Vector.js'
import type MapBrowserEvent from 'ol/MapBrowserEvent.js'
import VectorSource from 'ol/source/Vector.js'
import CircleSign from 'ol/style/Circle.js'
import Fill from 'ol/style/Fill.js'
import Stroke from 'ol/style/Stroke.js'
import Style from 'ol/style/Style.js'
import { type Circle, reaching } from './barn.ts'
import { metresPerUnit, toLat, toLong } from './mercator.ts'
import { TAP_PX } from './placing.ts'
import { circleAround } from './zone-layer.ts'

/** Circle that is dragged by its inside and resized by its edge. */
export class CircleLayer {
  readonly #area = new Feature()
  readonly #grip = new Feature()
  readonly #onChange: (circle: Circle) => void
  readonly #onDrop: () => void
  readonly layer = new VectorLayer({
    source: new VectorSource({ features: [this.#area, this.#grip] }),
    updateWhileInteracting: true,
    style: (feature) => (feature === this.#grip ? GRIP : AREA),
    zIndex: 2,
  })
  readonly interaction = new PointerInteraction({
    handleDownEvent: (event) => this.#down(event),
    handleDragEvent: (event) => this.#drag(event),
    handleUpEvent: () => {
      this.#onDrop()
      return false
    },
  })
  #circle: Circle | null = null
  /** Dragged part: the edge, or the whole circle with the offset of its centre from the finger. */
  #held: 'edge' | { x: number; y: number } = 'edge'

  /** `onDrop` is called once the finger is lifted. */
  constructor(onChange: (circle: Circle) => void, onDrop: () => void = () => undefined) {
    this.#onChange = onChange
    this.#onDrop = onDrop
  }

  show(circle: Circle | null): void {
    this.#circle = circle
    if (circle === null) {
      this.#area.setGeometry(undefined)
      this.#grip.setGeometry(undefined)
      return
    }
    const { x, y, radiusM } = circle
    this.#area.setGeometry(circleAround([toLong(x), toLat(y)], radiusM))
    this.#grip.setGeometry(new Point([x + radiusM / metresPerUnit(y), y]))
  }

  #down({ coordinate: [x = 0, y = 0], map }: MapBrowserEvent): boolean {
    const circle = this.#circle
    const resolution = map.getView().getResolution()
    if (circle === null || resolution === undefined) return false
    const distance = Math.hypot(x - circle.x, y - circle.y)
    const radius = circle.radiusM / metresPerUnit(circle.y)
    // in a small circle only a finger at the very edge resizes it
    const edge = Math.min(TAP_PX * resolution, radius / 2)
    if (Math.abs(distance - radius) <= Math.max(edge, distance > radius ? TAP_PX * resolution : 0)) {
      this.#held = 'edge'
      return true
    }
    this.#held = { x: circle.x - x, y: circle.y - y }
    return distance < radius
  }

  #drag({ coordinate: [x = 0, y = 0] }: MapBrowserEvent): void {
    if (this.#circle === null) return
    this.#onChange(
      this.#held === 'edge'
        ? reaching(this.#circle, x, y)
        : { ...this.#circle, x: x + this.#held.x, y: y + this.#held.y },
    )
  }
}

// blue within white is visible on pale and on dark maps
const AREA = [
  new Style({ stroke: new Stroke({ color: '#ffffff', width: 8 }) }),
  new Style({
    fill: new Fill({ color: '#0b4fb340' }),
    stroke: new Stroke({ color: '#0b4fb3', width: 4 }),
  }),
]
const GRIP = new Style({
  image: new CircleSign({
    radius: 12,
    fill: new Fill({ color: '#ffffff' }),
    stroke: new Stroke({ color: '#0b4fb3', width: 4 }),
  }),
  zIndex: 1,
})
