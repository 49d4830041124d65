import type { TrackFormat } from '#scripts/cli/formats.ts'

/** What every record has once, and nothing else has. */
const MARKS: Readonly<Record<TrackFormat, string>> = {
  csv: '\n',
  ndjson: '\n',
  gpx: '<trkpt ',
  geojson: '"type":"Feature",',
}

/** Counts the records of a history as its bytes go by. */
export class RecordCount {
  readonly #mark: Buffer
  readonly #header: number
  #tail: Buffer = Buffer.alloc(0)
  #marks = 0

  constructor(format: TrackFormat) {
    this.#mark = Buffer.from(MARKS[format])
    this.#header = format === 'csv' ? 1 : 0
  }

  add(bytes: Uint8Array): void {
    const mark = this.#mark
    const data = Buffer.concat([this.#tail, bytes])
    for (let at = data.indexOf(mark); at !== -1; at = data.indexOf(mark, at + mark.length)) this.#marks++
    // a mark may lie across the border; of one byte none can
    this.#tail = mark.length === 1 ? this.#tail : data.subarray(1 - mark.length)
  }

  get records(): number {
    return Math.max(0, this.#marks - this.#header)
  }
}
