import { CsvError, type CsvRow, CsvRows } from '#shared/history/csv-rows.ts'
import { emptyRecord, FIELD_NAMES, FIELDS, type Field, type FieldMapping, namesOf } from './fields.ts'
import { TrackFileError, type TrackReader, type TrackSink } from './track-reader.ts'

export interface CsvOptions {
  /** Undefined: the header decides. */
  delimiter: string | undefined
  mapping: FieldMapping
}

/** Reads CSV whose first row names the columns; which they are does not matter, nor their order. */
export class CsvReader implements TrackReader {
  readonly placeName = 'line'
  readonly #rows: CsvRows
  readonly #mapping: FieldMapping
  readonly #sink: TrackSink
  #columns: (Field | undefined)[] | undefined

  constructor({ delimiter, mapping }: CsvOptions, sink: TrackSink) {
    this.#rows = new CsvRows(delimiter, (row) => this.#take(row))
    this.#mapping = mapping
    this.#sink = sink
  }

  read(text: string): void {
    asTrackFile(() => this.#rows.read(text))
  }

  end(): void {
    asTrackFile(() => this.#rows.end())
    if (this.#columns === undefined) throw new TrackFileError('the file is empty: not even a header is there')
  }

  #take({ line, fields }: CsvRow): void {
    if (this.#columns === undefined) {
      if (fields === null) throw new TrackFileError(`line ${line} is no header: its quotes are wrong`)
      this.#columns = columnsOf(fields, this.#mapping)
    } else if (fields === null) {
      this.#sink.drop('invalid_quotes', line)
    } else if (fields.length !== this.#columns.length) {
      this.#sink.drop('wrong_number_of_fields', line)
    } else {
      const record = emptyRecord(line)
      for (const [i, field] of this.#columns.entries())
        if (field !== undefined) record[field] = NUMBERS.includes(field) ? this.#number(fields[i]) : fields[i]
      this.#sink.record(record)
    }
  }

  /** Where no comma stands between fields, one within a number is the decimal sign of most of Europe. */
  #number(text = ''): string {
    const number = text.trim()
    return this.#rows.delimiter !== ',' && WITH_COMMA.test(number) ? number.replace(',', '.') : text
  }
}

function asTrackFile(split: () => void): void {
  try {
    split()
  } catch (error) {
    throw error instanceof CsvError ? new TrackFileError(error.message) : error
  }
}

const NUMBERS: readonly Field[] = ['lat', 'long', 'speed', 'voltage']
const WITH_COMMA = /^[+-]?\d+,\d+$/

/** Which column is which field. Throws `TrackFileError` when the first row is no header, or could be read two ways. */
function columnsOf(header: readonly string[], mapping: FieldMapping): (Field | undefined)[] {
  const names = header.map((name) => name.trim().toLowerCase())
  const columns: (Field | undefined)[] = names.map(() => undefined)
  for (const field of FIELDS) {
    const wanted = namesOf(field, mapping)
    const places = names.flatMap((name, i) => (wanted.includes(name) ? [i] : []))
    const [place, other] = places
    if (place === undefined) {
      if (mapping[field] !== undefined) throw new TrackFileError(`there is no column "${mapping[field]}"`)
      continue
    }
    if (other !== undefined) {
      const both = [header[place], header[other]].join(' and ')
      throw new TrackFileError(
        `columns ${both} both could be ${field}: say which with --column ${field}=NAME`,
      )
    }
    columns[place] = field
  }
  const hasRecords = columns.includes('voltage') || (columns.includes('lat') && columns.includes('long'))
  if (columns.includes('time') && hasRecords) return columns
  const found = header.slice(0, 8).join(', ').slice(0, 200)
  throw new TrackFileError(
    `the first line must name the columns ${FIELD_NAMES.time[0]}, lat and long (or battery_voltage); it says: ${found}. ` +
      'Other names go with --column time=NAME',
  )
}
