import { type FieldMapping, FieldNames } from './fields.ts'
import { LINE_LIMIT, TrackFileError, type TrackReader, type TrackSink } from './track-reader.ts'

/** Reads one JSON object per line. */
export class NdjsonReader implements TrackReader {
  readonly placeName = 'line'
  readonly #names: FieldNames
  readonly #sink: TrackSink
  #rest = ''
  #line = 0

  constructor(mapping: FieldMapping, sink: TrackSink) {
    this.#names = new FieldNames(mapping)
    this.#sink = sink
  }

  read(text: string): void {
    const lines = text.split('\n')
    lines[0] = this.#rest + (lines[0] ?? '')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
    if (this.#rest.length > LINE_LIMIT) throw new TrackFileError(`line ${this.#line + 1} does not end`)
  }

  end(): void {
    this.#take(this.#rest)
    this.#rest = ''
  }

  #take(line: string): void {
    this.#line++
    if (line.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.#sink.drop('invalid_json', this.#line)
      return
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      this.#sink.drop('not_an_object', this.#line)
    else this.#sink.record(this.#names.readObject(value, this.#line))
  }
}
