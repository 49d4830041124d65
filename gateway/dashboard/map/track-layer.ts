import Feature from 'ol/Feature.js'
import MultiLineString from 'ol/geom/MultiLineString.js'
import Point from 'ol/geom/Point.js'
import VectorImageLayer from 'ol/layer/VectorImage.js'
import VectorSource from 'ol/source/Vector.js'
import Fill from 'ol/style/Fill.js'
import RegularShape from 'ol/style/RegularShape.js'
import Stroke from 'ol/style/Stroke.js'
import Style from 'ol/style/Style.js'
import type { MapExtent } from './first-view.ts'
import { metresPerUnit, toX, toY } from './mercator.ts'

/** Positions of a cart, in 1e-7 degrees. */
export interface DrawnTrack {
  atMs: Float64Array
  latE7: Int32Array
  longE7: Int32Array
}

/** Highlighted parts of the track, and places of stops. */
export interface TrackMarks {
  trips: readonly { fromMs: number; untilMs: number }[]
  stops: readonly { lat: number; long: number }[]
}

/** Maximum time between two connected positions: the path across a longer gap is unknown. */
const SILENCE_MS = 300_000
/** Maximum extent of a track: an outlier of a faulty receiver must not show half the world. */
const COURSE_MAX_M = 12_000

/** Track of a cart below its sign: pale in general, blue on trips, a square at each stop. */
export class TrackLayer {
  readonly #source = new VectorSource<Feature>()
  readonly layer = new VectorImageLayer({ source: this.#source, imageRatio: 1.5, zIndex: 1 })

  show(track: DrawnTrack, { trips, stops }: TrackMarks): void {
    const whole = linesOf(track, [{ fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }])
    const driven = linesOf(track, trips)
    this.#source.clear(true)
    this.#source.addFeatures([
      styled(new MultiLineString(whole), WHOLE),
      styled(new MultiLineString(driven), DRIVEN),
      ...stops.map(({ lat, long }) => styled(new Point([toX(long), toY(lat)]), STOPPED)),
    ])
  }
}

/** Returns the extent of a track without positions too far from its middle; null for an empty track. */
export function extentOfTrack({ latE7, longE7 }: DrawnTrack): MapExtent | null {
  const middle = (column: Int32Array) => column.toSorted()[Math.floor(column.length / 2)]
  const [lat, long] = [middle(latE7), middle(longE7)]
  if (lat === undefined || long === undefined) return null
  const [midX, midY] = [toX(long / 1e7), toY(lat / 1e7)]
  const reach = COURSE_MAX_M / 2 / metresPerUnit(midY)
  const extent: MapExtent = [midX, midY, midX, midY]
  for (const [i, one] of latE7.entries()) {
    const [x, y] = [toX((longE7[i] ?? 0) / 1e7), toY(one / 1e7)]
    if (Math.abs(x - midX) > reach || Math.abs(y - midY) > reach) continue
    extent[0] = Math.min(extent[0], x)
    extent[1] = Math.min(extent[1], y)
    extent[2] = Math.max(extent[2], x)
    extent[3] = Math.max(extent[3], y)
  }
  return extent
}

function styled(geometry: Point | MultiLineString, style: Style | Style[]): Feature {
  const feature = new Feature({ geometry })
  feature.setStyle(style)
  return feature
}

/** Returns the parts of a track within ordered spans, cut at signal losses. */
function linesOf(
  { atMs, latE7, longE7 }: DrawnTrack,
  spans: readonly { fromMs: number; untilMs: number }[],
): number[][][] {
  const lines: number[][][] = []
  let line: number[][] = []
  let span = 0
  let lastMs = Number.NEGATIVE_INFINITY
  const cut = () => {
    if (line.length > 1) lines.push(line)
    line = []
  }
  for (const [i, now] of atMs.entries()) {
    if (now - lastMs > SILENCE_MS) cut()
    lastMs = now
    while ((spans[span]?.untilMs ?? Number.POSITIVE_INFINITY) < now) {
      span++
      cut()
    }
    const current = spans[span]
    if (current === undefined) break
    if (now >= current.fromMs) line.push([toX((longE7[i] ?? 0) / 1e7), toY((latE7[i] ?? 0) / 1e7)])
  }
  cut()
  return lines
}

const WHITE = '#ffffff'
const WHOLE = new Style({ stroke: new Stroke({ color: '#5b6455', width: 2, lineDash: [4, 4] }) })
// blue within white is visible on pale and on dark maps
const DRIVEN = [
  new Style({ stroke: new Stroke({ color: WHITE, width: 7 }), zIndex: 1 }),
  new Style({ stroke: new Stroke({ color: '#0b4fb3', width: 4 }), zIndex: 1 }),
]
const STOPPED = new Style({
  image: new RegularShape({
    points: 4,
    radius: 9,
    angle: Math.PI / 4,
    fill: new Fill({ color: '#3f4a3b' }),
    stroke: new Stroke({ color: WHITE, width: 2 }),
  }),
  zIndex: 2,
})
