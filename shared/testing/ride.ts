import type { GpsRecord } from '#shared/trips/track.ts'

const METRES_PER_DEGREE = (6_371_000 * Math.PI) / 180

export interface Start {
  atMs: number
  lat: number
  long: number
}

/** A morning near Monterey. */
const MORNING: Start = { atMs: Date.UTC(2026, 4, 4, 8), lat: 36.568, long: -121.95 }

/** Builds the records of a device, one manoeuvre after another. The first manoeuvre creates the first record. */
export class Ride {
  readonly records: GpsRecord[] = []
  #atMs: number
  #lat: number
  #long: number

  constructor({ atMs, lat, long }: Start = MORNING) {
    this.#atMs = atMs
    this.#lat = lat
    this.#long = long
  }

  get atMs(): number {
    return this.#atMs
  }

  /** Stands, with an immediate record and then one per interval while it is less than `seconds`. */
  wait(seconds: number, everyS = 30, speedKmh: number | null = 0): this {
    for (let s = 0; s < seconds; s += everyS) {
      this.record({ speedKmh })
      this.later(Math.min(everyS, seconds - s))
    }
    return this
  }

  /** Drives straight, with records like `wait`; heading in degrees from north. */
  drive(seconds: number, speedKmh: number, everyS = 30, { headingDeg = 0, reported = true } = {}): this {
    for (let s = 0; s < seconds; s += everyS) {
      this.record({ speedKmh: reported ? speedKmh : null })
      const stepS = Math.min(everyS, seconds - s)
      this.move((speedKmh / 3.6) * stepS, headingDeg).later(stepS)
    }
    return this
  }

  /** Advances time without records. */
  later(seconds: number): this {
    this.#atMs += Math.round(seconds * 1000)
    return this
  }

  /** Moves elsewhere instantly, without records. */
  move(metres: number, headingDeg = 0): this {
    const heading = (headingDeg * Math.PI) / 180
    const [lat, long] = this.#offset(metres * Math.cos(heading), metres * Math.sin(heading))
    this.#lat = lat
    this.#long = long
    return this
  }

  /** Adds one record, displaced by some metres to the north and the east. */
  record({ northM = 0, eastM = 0, speedKmh = 0 }: Partial<Offset> = {}): this {
    const [lat, long] = this.#offset(northM, eastM)
    this.records.push({ atMs: this.#atMs, lat, long, speedKmh })
    return this
  }

  #offset(northM: number, eastM: number): [number, number] {
    const lat = Math.max(-89.9, Math.min(89.9, this.#lat + northM / METRES_PER_DEGREE))
    const long = this.#long + eastM / (METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180))
    return [lat, ((((long + 180) % 360) + 360) % 360) - 180]
  }
}

interface Offset {
  northM: number
  eastM: number
  speedKmh: number | null
}
