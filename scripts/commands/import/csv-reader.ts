import { CsvError, type CsvRow, CsvRows } from '#shared/history/csv-rows.ts'
import { emptyRecord, FIELD_NAMES, FIELDS, type FieldMapping, FieldNames, type NamedField } from './fields.ts'
import { TrackFileError, type TrackReader, type TrackSink } from './track-reader.ts'

export interface CsvOptions {
  /** Undefined: determined from the header. */
  delimiter: string | undefined
  mapping: FieldMapping
}

/** Reads CSV whose first row names the columns, in any selection and order. */
export class CsvReader implements TrackReader {
  readonly placeName = 'line'
  readonly #rows: CsvRows
  readonly #mapping: FieldMapping
  readonly #sink: TrackSink
  #columns: (NamedField | undefined)[] | undefined
  /** Number of columns in the header, without unnamed ones at its end. */
  #named = 0

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
      if (fields === null) throw new TrackFileError(`line ${line} is not a header: its quotes are wrong`)
      this.#columns = columnsOf(fields, this.#mapping)
      this.#named = fields.findLastIndex(hasText) + 1
    } else if (fields === null) {
      this.#sink.drop('invalid_quotes', line)
    } else if (fields.length < this.#named || fields.slice(this.#columns.length).some(hasText)) {
      // some programs end rows, but not the header, with a delimiter, or pad them
      this.#sink.drop('wrong_number_of_fields', line)
    } else {
      const record = emptyRecord(line)
      for (const [i, column] of this.#columns.entries()) {
        if (column === undefined) continue
        record[column.field] = fields[i]
        if (column.field === 'speed') record.kmhPerSpeedUnit = column.kmhPerSpeedUnit
      }
      this.#sink.record(record)
    }
  }
}

function hasText(field: string): boolean {
  return field.trim() !== ''
}

function asTrackFile(split: () => void): void {
  try {
    split()
  } catch (error) {
    throw error instanceof CsvError ? new TrackFileError(error.message) : error
  }
}

/** Returns the field of each column. Throws `TrackFileError` if the first row is not a header, or is ambiguous. */
function columnsOf(header: readonly string[], mapping: FieldMapping): (NamedField | undefined)[] {
  const names = new FieldNames(mapping)
  const found = header.map((name) => names.find(name))
  const columns: (NamedField | undefined)[] = header.map(() => undefined)
  for (const field of FIELDS) {
    const placesOf = (isUsual: boolean) =>
      found.flatMap((named, i) => (named?.field === field && named.isUsual === isUsual ? [i] : []))
    const usual = placesOf(true)
    const [place, other] = usual.length > 0 ? usual : placesOf(false)
    if (place === undefined) {
      if (mapping[field] !== undefined) throw new TrackFileError(`there is no column "${mapping[field]}"`)
      continue
    }
    if (other !== undefined) {
      const both = [header[place], header[other]].join(' and ')
      throw new TrackFileError(`columns ${both} both could be ${field}: say which with --column ${field}=NAME`)
    }
    columns[place] = found[place]
  }
  const fields = new Set(columns.map((column) => column?.field))
  const hasRecords = fields.has('voltage') || (fields.has('lat') && fields.has('long'))
  if (fields.has('time') && hasRecords) return columns
  const shown = header.slice(0, 8).join(', ').slice(0, 200)
  throw new TrackFileError(
    `the first line must name the columns ${FIELD_NAMES.time[0]}, lat and long (or battery_voltage), not ${shown}. ` +
      'Other names go with --column time=NAME',
  )
}
