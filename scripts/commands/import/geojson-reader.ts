import { type FieldMapping, FieldNames } from './fields.ts'
import { JsonFeatures } from './json-features.ts'
import type { FoundRecord, TrackReader, TrackSink } from './track-reader.ts'

type JsonObject = Record<string, unknown>

/**
 * Maximum of points without a device held until a line shows they are not a track: GPX files have fewer waypoints.
 */
const HELD_MAX = 10_000

/**
 * Reads the points of GeoJSON. The properties of a Point contain its time, speed and the other fields; those of a line
 * contain a list of times: coordTimes, times, or coordinateProperties.times. If there are lines with times, points are
 * waypoints, and dropped, unless they name their device. Source: RFC 7946, https://github.com/placemark/togeojson
 */
export class GeojsonReader implements TrackReader {
  readonly placeName = 'point'
  readonly #features: JsonFeatures
  readonly #names: FieldNames
  readonly #sink: TrackSink
  #point = 0
  /** True after a line with times. */
  #hasTrack = false
  /** Points that may be waypoints; undefined once there are so many that they must be the track. */
  #held: FoundRecord[] | undefined = []

  constructor(mapping: FieldMapping, sink: TrackSink) {
    this.#features = new JsonFeatures((feature) => this.#take(feature))
    this.#names = new FieldNames(mapping)
    this.#sink = sink
  }

  read(text: string): void {
    try {
      this.#features.read(text)
    } catch (error) {
      this.#release()
      throw error
    }
  }

  end(): void {
    this.#release()
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
    if (type === 'Point') this.#addPoint(coordinates, properties)
    else if (properties._gpxType === 'rte') this.#drop('route_point')
    else if (type === 'LineString' || type === 'MultiPoint') this.#line(coordinates, properties, times)
    else if (type === 'MultiLineString') {
      for (const [i, line] of coordinates.entries())
        this.#line(Array.isArray(line) ? line : [], properties, Array.isArray(times) ? times[i] : undefined)
    } else this.#drop('no_track')
  }

  #line(positions: readonly unknown[], properties: JsonObject, times: unknown): void {
    if (Array.isArray(times)) this.#foundTrack()
    for (const [i, position] of positions.entries()) {
      const record = this.#recordAt(position, properties)
      record.time = Array.isArray(times) ? (times[i] ?? null) : null
      // applies to the line as a whole, if at all
      record.speed = undefined
      record.voltage = undefined
      this.#sink.record(record)
    }
  }

  #addPoint(position: unknown, properties: JsonObject): void {
    const record = this.#recordAt(position, properties)
    const mayBeWaypoint = record.hardwareId === undefined && record.lat !== undefined
    if (mayBeWaypoint && this.#hasTrack) this.#sink.drop('waypoint', record.place)
    else if (mayBeWaypoint && this.#held !== undefined) {
      this.#held.push(record)
      if (this.#held.length > HELD_MAX) this.#release()
    } else this.#sink.record(record)
  }

  #recordAt(position: unknown, properties: JsonObject): FoundRecord {
    const record = this.#names.readObject(properties, ++this.#point)
    const [long, lat] = Array.isArray(position) ? position : []
    record.lat = lat
    record.long = long
    return record
  }

  #foundTrack(): void {
    if (this.#held === undefined) return
    this.#hasTrack = true
    for (const { place } of this.#held.splice(0)) this.#sink.drop('waypoint', place)
  }

  #release(): void {
    for (const record of this.#held ?? []) this.#sink.record(record)
    this.#held = undefined
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
