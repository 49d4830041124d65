import { TrackFileError } from './track-reader.ts'

/** Maximum characters of one feature, or of everything outside the features of a collection. */
const TEXT_LIMIT = 64 * 1_048_576
const FEATURES_KEY = /"features"\s*:\s*$/
const GEOMETRIES = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
]

const [QUOTE, BACKSLASH, COMMA] = [34, 92, 44]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

/** Called for each feature; null for invalid JSON. */
type OnFeature = (feature: unknown) => void

/**
 * Splits GeoJSON into features as it arrives: a collection feature by feature, whatever its size; anything else as a
 * whole, up to 64 MiB. Several texts may follow each other, with or without record separators. Source: RFC 7946, 8142
 */
export class JsonFeatures {
  readonly #onFeature: OnFeature
  /** Text being read: a feature of a collection, or the text around the features. */
  #part = ''
  /** Text before the features, kept while they are read. */
  #frame = ''
  #depth = 0
  #isInFeatures = false
  #mayFollow = false
  #isInString = false
  #isEscaped = false
  #texts = 0

  constructor(onFeature: OnFeature) {
    this.#onFeature = onFeature
  }

  read(text: string): void {
    let from = 0
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (code === BACKSLASH) this.#isEscaped = true
        else if (code === QUOTE) this.#isInString = false
        continue
      }
      if (code <= 32) continue
      if (this.#depth === 0) {
        if (code !== OPEN_OBJECT) throw notGeoJson()
        this.#part = ''
        from = i
      }
      if (this.#isInFeatures && this.#depth === 2) {
        if (code === OPEN_OBJECT && this.#mayFollow) {
          this.#part = ''
          from = i
          this.#depth++
        } else if (code === CLOSE_LIST) {
          this.#part = this.#frame
          from = i
          this.#isInFeatures = false
          this.#depth--
        } else if (code === COMMA && !this.#mayFollow) this.#mayFollow = true
        else throw notGeoJson()
        continue
      }
      if (code === QUOTE) this.#isInString = true
      else if (code === OPEN_OBJECT || code === OPEN_LIST) {
        if (code === OPEN_LIST && this.#depth === 1) {
          const before = this.#part + text.slice(from, i)
          if (FEATURES_KEY.test(before.slice(-40))) {
            this.#frame = `${before}[`
            this.#isInFeatures = true
            this.#mayFollow = true
          }
        }
        this.#depth++
      } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
        this.#depth--
        const isFeature = this.#isInFeatures && this.#depth === 2
        if (!isFeature && this.#depth > 0) continue
        const whole = this.#part + text.slice(from, i + 1)
        from = i + 1
        if (isFeature) this.#takeFeature(whole)
        else this.#takeText(whole)
      }
    }
    this.#part += text.slice(from)
    if (this.#part.length > TEXT_LIMIT)
      throw new TrackFileError(
        `one feature has more than ${TEXT_LIMIT / 1_048_576} MiB: a collection of features may have any size, a ` +
          'single one may not',
      )
  }

  end(): void {
    if (this.#depth > 0) throw new TrackFileError('the file ends in the middle of its JSON')
    if (this.#texts === 0) throw new TrackFileError('the file is empty, which is not GeoJSON')
  }

  #takeFeature(text: string): void {
    this.#mayFollow = false
    this.#onFeature(parse(text))
  }

  #takeText(text: string): void {
    this.#part = ''
    this.#texts++
    const root = parse(text)
    if (typeof root !== 'object' || root === null || !('type' in root)) throw notGeoJson()
    if (root.type === 'FeatureCollection') {
      if (!('features' in root)) throw notGeoJson()
    } else if (root.type === 'Feature') this.#onFeature(root)
    else if (typeof root.type === 'string' && GEOMETRIES.includes(root.type))
      this.#onFeature({ type: 'Feature', geometry: root, properties: null })
    else throw notGeoJson()
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function notGeoJson(): TrackFileError {
  return new TrackFileError('the file is not GeoJSON')
}
