import { emptyRecord } from './fields.ts'
import { type FoundRecord, TrackFileError, type TrackReader, type TrackSink } from './track-reader.ts'
import { type XmlSink, XmlTokens } from './xml-tokens.ts'

/** Elements of planned routes and marked places: the cart need not have been there. */
const NO_TRACK = new Map([
  ['wpt', 'waypoint'],
  ['rtept', 'route_point'],
])
/** The children of a point that are read. */
const VALUES = ['time', 'speed', 'fix'] as const
/** Longer than any time or number. */
const VALUE_LIMIT = 200

/**
 * Reads the points of GPX tracks; waypoints and points of routes are dropped. Speeds are m/s: GPX 1.0 has an element
 * for them, in 1.1 they are an extension: of Garmin, or as OsmAnd and others write it, directly below `extensions`.
 * Elements are identified by their names without prefixes, which files use freely. Source:
 * https://www.topografix.com/GPX/1/0/, https://www.topografix.com/GPX/1/1/,
 * https://www8.garmin.com/xmlschemas/TrackPointExtensionv2.xsd
 */
export class GpxReader implements TrackReader, XmlSink {
  readonly placeName = 'point'
  readonly #xml = new XmlTokens(this)
  readonly #sink: TrackSink
  readonly #path: string[] = []
  #points = 0
  #point: FoundRecord | undefined
  /** Depth of the point in the tree. */
  #pointDepth = 0
  /** Text of the element that is being read; undefined if it is not needed. */
  #value: string | undefined

  constructor(sink: TrackSink) {
    this.#sink = sink
  }

  read(text: string): void {
    this.#xml.read(text)
  }

  end(): void {
    this.#xml.end()
  }

  open(qualifiedName: string, attributes: Readonly<Record<string, string>>): void {
    const name = localName(qualifiedName)
    if (this.#path.length === 0 && name !== 'gpx') throw new TrackFileError(`the file is not GPX but <${name}>`)
    this.#path.push(name)
    if (this.#point === undefined) {
      const reason = NO_TRACK.get(name)
      if (reason !== undefined) this.#sink.drop(reason, ++this.#points)
      if (name !== 'trkpt') return
      const { lat, lon } = attributes
      this.#point = { ...emptyRecord(++this.#points), lat, long: lon }
      this.#pointDepth = this.#path.length
    } else if (this.#isWanted(name)) this.#value = ''
  }

  close(): void {
    const name = this.#path.pop()
    const point = this.#point
    if (point === undefined) return
    const field = VALUES.find((one) => one === name)
    if (this.#value !== undefined && field !== undefined) {
      // a value with a defined meaning has precedence over an undefined extension
      if (this.#path.at(-1) !== 'extensions') point[field] = this.#value
      else point[field] ??= this.#value
      this.#value = undefined
    } else if (this.#path.length < this.#pointDepth) {
      this.#point = undefined
      this.#sink.record(point)
    }
  }

  text(piece: string): void {
    if (this.#value !== undefined && this.#value.length < VALUE_LIMIT) this.#value += piece
  }

  #isWanted(name: string): boolean {
    const isChild = this.#path.length === this.#pointDepth + 1
    if (isChild) return VALUES.some((one) => one === name)
    if (name !== 'speed') return false
    const isInExtensions = this.#path.length === this.#pointDepth + 2 && this.#path.at(-2) === 'extensions'
    return isInExtensions || this.#path.at(-2) === 'TrackPointExtension'
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}
