import Feature from 'ol/Feature.js'
import Point from 'ol/geom/Point.js'
import VectorLayer from 'ol/layer/Vector.js'
import VectorSource from 'ol/source/Vector.js'
import CircleSign from 'ol/style/Circle.js'
import Fill from 'ol/style/Fill.js'
import Stroke from 'ol/style/Stroke.js'
import Style from 'ol/style/Style.js'
import { toX, toY } from './mercator.ts'

/** Place of a signal loss, in degrees. */
export interface SilentPlace {
  lat: number
  long: number
}

/** Places of signal losses: dashed rings, like the sign of a cart without a signal; the chosen one is filled. */
export class SilenceLayer {
  readonly #source = new VectorSource<Feature>()
  readonly layer = new VectorLayer({ source: this.#source, zIndex: 2 })

  show(places: readonly SilentPlace[], chosen: SilentPlace | null): void {
    this.#source.clear(true)
    this.#source.addFeatures(
      places.map((place) => {
        const feature = new Feature({ geometry: new Point([toX(place.long), toY(place.lat)]) })
        feature.setStyle(place === chosen ? CHOSEN : RING)
        return feature
      }),
    )
  }
}

// white around black is visible on pale and on dark maps
const RING = [
  new Style({ image: new CircleSign({ radius: 11, stroke: new Stroke({ color: '#ffffff', width: 6 }) }) }),
  new Style({
    image: new CircleSign({
      radius: 11,
      fill: new Fill({ color: '#b3002d40' }),
      stroke: new Stroke({ color: '#b3002d', width: 3, lineDash: [5, 4] }),
    }),
  }),
]
const CHOSEN = new Style({
  image: new CircleSign({
    radius: 14,
    fill: new Fill({ color: '#b3002d' }),
    stroke: new Stroke({ color: '#ffffff', width: 4 }),
  }),
  zIndex: 1,
})
