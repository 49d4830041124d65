import { columnKey } from '#shared/history/csv-rows.ts'
import type { FoundRecord } from './track-reader.ts'

export type Field = Exclude<keyof FoundRecord, 'place' | 'kmhPerSpeedUnit'>

/** Names of a field in files; the first of them is used on the command line. Case does not matter. */
export const FIELD_NAMES: Readonly<Record<Field, readonly string[]>> = {
  time: ['time', 'timestamp', 'datetime', 'date_time', 'ts'],
  lat: ['lat', 'latitude'],
  long: ['long', 'lon', 'lng', 'longitude'],
  speed: ['speed'],
  fix: ['fix'],
  voltage: ['battery_voltage'],
  hardwareId: ['hardware_id'],
}

/** Further names, which count if none of the others is present; in the form of `columnKey`. */
const OTHER_NAMES: Readonly<Record<Field, readonly string[]>> = {
  time: ['fixtime', 'gpstime', 'timeutc', 'utctime', 'zeit', 'zeitpunkt', 'zeitstempel', 'datumzeit'],
  lat: ['latitudedeg', 'gpslatitude', 'breite', 'breitengrad'],
  long: ['longitudedeg', 'gpslongitude', 'länge', 'längengrad'],
  speed: ['gpsspeed', 'geschwindigkeit'],
  fix: ['valid', 'gpsfix', 'fixquality'],
  voltage: ['batteryvoltagev', 'batteriespannung'],
  hardwareId: ['hardwarekennung'],
}

/** km/h in each unit of speed, by its `columnKey`. */
const KMH_IN_UNIT: ReadonlyMap<string, number> = new Map([
  ...['kmh', 'kph'].map((name) => [name, 1] as const),
  ...['ms', 'mps'].map((name) => [name, 3.6] as const),
  ['mph', 1.609344],
  ...['kn', 'kt', 'kts', 'knot', 'knots'].map((name) => [name, 1.852] as const),
])

/** Returns the km/h in a unit, whose name may have any usual spelling; undefined for an unknown one. */
export function kmhIn(unit: string): number | undefined {
  return KMH_IN_UNIT.get(columnKey(unit))
}

/** Names of fields specific to a file. */
export type FieldMapping = Partial<Record<Field, string>>

/** Typed Object.keys: the table has these keys and no others. */
export const FIELDS = Object.keys(FIELD_NAMES) as Field[]

/** Field of a name in a file. */
export interface NamedField {
  field: Field
  /** False: it counts only if no usual name of the field is present. */
  isUsual: boolean
  /** Unit of a speed whose name contains it, such as `speed_kn` or `Speed (m/s)`. */
  kmhPerSpeedUnit: number | undefined
}

/** Maps the names in a file to fields. */
export class FieldNames {
  readonly #usual = new Map<string, NamedField>()
  readonly #other = new Map<string, NamedField>()

  constructor(mapping: FieldMapping) {
    for (const field of FIELDS) {
      const own = mapping[field]
      const names = own === undefined ? FIELD_NAMES[field] : [own.toLowerCase()]
      const named = { field, isUsual: true, kmhPerSpeedUnit: undefined }
      for (const name of names) this.#usual.set(name, named)
      if (own !== undefined) continue
      const other = { ...named, isUsual: false }
      for (const name of [...names.map(columnKey), ...OTHER_NAMES[field]]) this.#other.set(name, other)
      if (field !== 'speed') continue
      for (const name of ['speed', ...OTHER_NAMES.speed])
        for (const [unit, kmhPerSpeedUnit] of KMH_IN_UNIT) this.#other.set(name + unit, { ...other, kmhPerSpeedUnit })
    }
  }

  find(name: string): NamedField | undefined {
    return this.#usual.get(name.trim().toLowerCase()) ?? this.#other.get(columnKey(name))
  }

  /** Reads a JSON object; of two names for one field the usual one counts, and of two usual ones the first. */
  readObject(object: object, place: number): FoundRecord {
    const record = emptyRecord(place)
    const others: [NamedField, unknown][] = []
    for (const [name, value] of Object.entries(object)) {
      const named = this.find(name)
      if (named?.isUsual) record[named.field] ??= value
      else if (named !== undefined) others.push([named, value])
    }
    for (const [{ field, kmhPerSpeedUnit }, value] of others) {
      if (record[field] !== undefined && record[field] !== null) continue
      record[field] = value
      if (field === 'speed') record.kmhPerSpeedUnit = kmhPerSpeedUnit
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
    kmhPerSpeedUnit: undefined,
    fix: undefined,
    voltage: undefined,
    hardwareId: undefined,
  }
}
