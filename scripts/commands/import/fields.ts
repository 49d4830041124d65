import type { FoundRecord } from './track-reader.ts'

export type Field = Exclude<keyof FoundRecord, 'place'>

/** The names a field has in files, and the first of them on the command line; case does not matter. */
export const FIELD_NAMES: Readonly<Record<Field, readonly string[]>> = {
  time: ['time', 'timestamp', 'datetime', 'date_time', 'ts'],
  lat: ['lat', 'latitude'],
  long: ['long', 'lon', 'lng', 'longitude'],
  speed: ['speed'],
  voltage: ['battery_voltage'],
  hardwareId: ['hardware_id'],
}

/** Names a file has of its own for fields. */
export type FieldMapping = Partial<Record<Field, string>>

/** Object.keys, typed: the table has these keys and no others. */
export const FIELDS = Object.keys(FIELD_NAMES) as Field[]

/** The names to look for, in lower case. */
export function namesOf(field: Field, mapping: FieldMapping): readonly string[] {
  const own = mapping[field]
  return own === undefined ? FIELD_NAMES[field] : [own.toLowerCase()]
}

/** Picks the fields out of JSON objects. */
export class ObjectFields {
  readonly #fieldOf = new Map<string, Field>()

  constructor(mapping: FieldMapping) {
    for (const field of FIELDS) for (const name of namesOf(field, mapping)) this.#fieldOf.set(name, field)
  }

  /** What the object has; of two names for one field the first counts. */
  read(object: object, place: number): FoundRecord {
    const record = emptyRecord(place)
    for (const [name, value] of Object.entries(object)) {
      const field = this.#fieldOf.get(name.toLowerCase())
      if (field !== undefined) record[field] ??= value
    }
    return record
  }
}

export function emptyRecord(place: number): FoundRecord {
  return {
    place,
    time: undefined,
    lat: undefined,
    long: undefined,
    speed: undefined,
    voltage: undefined,
    hardwareId: undefined,
  }
}
