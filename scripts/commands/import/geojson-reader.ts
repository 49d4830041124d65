import { type FieldMapping, ObjectFields } from './fields.ts'
import { JsonFeatures } from './json-features.ts'
import type { TrackReader, TrackSink } from './track-reader.ts'

type JsonObject = Record<string, unknown>

/**
 * Reads the points of GeoJSON. A Point has its time, speed and the rest in its properties; a line has a list of times
 * of its own there: coordTimes, times, or coordinateProperties.times.
 * Source: RFC 7946, https://github.com/placemark/togeojson
 */
export class GeojsonReader implements TrackReader {
  readonly placeName = 'point'
  readonly #features: JsonFeatures
  readonly #fields: ObjectFields
  readonly #sink: TrackSink
  #point = 0

  constructor(mapping: FieldMapping, sink: TrackSink) {
    this.#features = new JsonFeatures((feature) => this.#take(feature))
    this.#fields = new ObjectFields(mapping)
    this.#sink = sink
  }

  read(text: string): void {
    this.#features.read(text)
  }

  end(): void {
    this.#features.end()
  }

  #take(feature: unknown): void {
    if (!isObject(feature) || feature.type !== 'Feature') {
      this.#drop('invalid_feature')
      return
    }
    const properties = isObject(feature.properties) ? feature.properties : {}
    const geometry = isObject(feature.geometry) ? feature.geometry : { type: 'Point' }
    const { type } = geometry
    const coordinates = Array.isArray(geometry.coordinates) ? geometry.coordinates : []
    const times = timesIn(properties)
    // without a geometry it may still be a battery record
    if (type === 'Point') this.#addPoint(coordinates, properties, undefined)
    else if (type === 'LineString' || type === 'MultiPoint') this.#line(coordinates, properties, times)
    else if (type === 'MultiLineString') {
      for (const [i, line] of coordinates.entries())
        this.#line(Array.isArray(line) ? line : [], properties, Array.isArray(times) ? times[i] : undefined)
    } else this.#drop('no_track')
  }

  #line(positions: readonly unknown[], properties: JsonObject, times: unknown): void {
    for (const [i, position] of positions.entries())
      this.#addPoint(position, properties, Array.isArray(times) ? (times[i] ?? null) : null)
  }

  /** `time` is that of the point where it is one of many, and undefined where the properties are its own. */
  #addPoint(position: unknown, properties: JsonObject, time: unknown): void {
    const record = this.#fields.read(properties, ++this.#point)
    const [long, lat] = Array.isArray(position) ? position : []
    record.lat = lat
    record.long = long
    if (time !== undefined) {
      record.time = time
      // of the line as a whole, if at all
      record.speed = undefined
      record.voltage = undefined
    }
    this.#sink.record(record)
  }

  #drop(reason: string): void {
    this.#sink.drop(reason, ++this.#point)
  }
}

function timesIn(properties: JsonObject): unknown {
  const { coordTimes, times, coordinateProperties } = properties
  return coordTimes ?? times ?? (isObject(coordinateProperties) ? coordinateProperties.times : undefined)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
