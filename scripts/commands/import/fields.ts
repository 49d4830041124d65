import { columnKey } from '#shared/history/csv-rows.ts'
import type { FoundRecord } from './track-reader.ts'

export type Field = Exclude<keyof FoundRecord, 'place' | 'kmhPerSpeedUnit'>

/** The names a field has in files, and the first of them on the command line; case does not matter. */
export const FIELD_NAMES: Readonly<Record<Field, readonly string[]>> = {
  time: ['time', 'timestamp', 'datetime', 'date_time', 'ts'],
  lat: ['lat', 'latitude'],
  long: ['long', 'lon', 'lng', 'longitude'],
  speed: ['speed'],
  fix: ['fix'],
  voltage: ['battery_voltage'],
  hardwareId: ['hardware_id'],
}

/** Further names, which count where none of those is there: as `columnKey` has them. */
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

/** How many km/h a unit is, whose name may be written in any of the usual ways; undefined for another. */
export function kmhIn(unit: string): number | undefined {
  return KMH_IN_UNIT.get(columnKey(unit))
}

/** Names a file has of its own for fields. */
export type FieldMapping = Partial<Record<Field, string>>

/** Object.keys, typed: the table has these keys and no others. */
export const FIELDS = Object.keys(FIELD_NAMES) as Field[]

/** The field that a name stands for. */
export interface NamedField {
  field: Field
  /** False: it counts only where no usual name of the field is there. */
  isUsual: boolean
  /** Of a speed whose name has its unit, such as `speed_kn` or `Speed (m/s)`. */
  kmhPerSpeedUnit: number | undefined
}

/** Finds what the names in a file stand for. */
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

  /** What a JSON object has; of two names for one field the usual one counts, and of two such the first. */
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
