/** Time spent by carts, in seconds per square cell. The columns have equal lengths. */
export interface TrafficCells {
  /** The Mercator map of the world is 2 to the power of `zoom` cells wide. */
  readonly zoom: number
  readonly x: Uint32Array
  readonly y: Uint32Array
  readonly seconds: Float64Array
}

/** 9.6 m at the equator, 6.1 m at 50 degrees. */
const FINEST_ZOOM = 22
/** Limit of the projection. */
const LAT_MAX_E7 = 850_000_000
const EARTH_M = 40_075_016.686
const CELLS_AS_KEY = 2 ** FINEST_ZOOM

/** Sums time per cell, in any order. Beyond a maximum number of cells, all double their width: memory is bounded. */
export class TrafficGrid {
  readonly #cellsMax: number
  #zoom = FINEST_ZOOM
  #seconds = new Map<number, number>()
  /** Last cell and its pending time: most carts stand most of the time. */
  #lastKey = -1
  #lastSeconds = 0

  constructor(cellsMax: number) {
    this.#cellsMax = cellsMax
  }

  add(latE7: number, longE7: number, seconds: number): void {
    const zoom = this.#zoom
    const key = keyAt(latE7, longE7, zoom)
    if (key !== this.#lastKey) {
      this.#settle()
      // the addition may have widened the cells
      this.#lastKey = zoom === this.#zoom ? key : keyAt(latE7, longE7, this.#zoom)
    }
    this.#lastSeconds += seconds
  }

  addAll({ zoom, x, y, seconds }: TrafficCells): void {
    this.#settle()
    while (this.#zoom > zoom) this.#widen()
    for (let i = 0; i < x.length; i++) {
      const finer = 2 ** (zoom - this.#zoom)
      this.#addTo(keyOf(Math.floor((x[i] ?? 0) / finer), Math.floor((y[i] ?? 0) / finer)), seconds[i] ?? 0)
    }
  }

  /** Returns the cells from the north-west, row by row. */
  cells(): TrafficCells {
    this.#settle()
    const keys = [...this.#seconds.keys()].sort((a, b) => a - b)
    return {
      zoom: this.#zoom,
      x: Uint32Array.from(keys, (key) => key % CELLS_AS_KEY),
      y: Uint32Array.from(keys, (key) => Math.floor(key / CELLS_AS_KEY)),
      seconds: Float64Array.from(keys, (key) => this.#seconds.get(key) ?? 0),
    }
  }

  /** Adds the pending time to its cell. */
  #settle(): void {
    const [key, seconds] = [this.#lastKey, this.#lastSeconds]
    this.#lastKey = -1
    this.#lastSeconds = 0
    if (key >= 0) this.#addTo(key, seconds)
  }

  #addTo(key: number, seconds: number): void {
    this.#seconds.set(key, (this.#seconds.get(key) ?? 0) + seconds)
    while (this.#seconds.size > this.#cellsMax) this.#widen()
  }

  #widen(): void {
    const finer = this.#seconds
    this.#zoom -= 1
    this.#seconds = new Map()
    for (const [key, seconds] of finer) {
      const [x, y] = [key % CELLS_AS_KEY, Math.floor(key / CELLS_AS_KEY)]
      this.#addTo(keyOf(Math.floor(x / 2), Math.floor(y / 2)), seconds)
    }
  }
}

/** Centre of a cell in degrees. */
export function cellCentre(zoom: number, x: number, y: number): { lat: number; long: number } {
  const width = 2 ** zoom
  const north = Math.PI * (1 - (2 * (y + 0.5)) / width)
  return { lat: (Math.atan(Math.sinh(north)) * 180) / Math.PI, long: ((x + 0.5) / width) * 360 - 180 }
}

/** Width of a cell at this latitude, in metres. */
export function cellWidthM(zoom: number, lat: number): number {
  return (EARTH_M / 2 ** zoom) * Math.cos((lat * Math.PI) / 180)
}

function keyAt(latE7: number, longE7: number, zoom: number): number {
  const width = 2 ** zoom
  return keyOf(columnOf(longE7, width), rowOf(latE7, width))
}

function keyOf(x: number, y: number): number {
  return y * CELLS_AS_KEY + x
}

function columnOf(longE7: number, width: number): number {
  return Math.min(width - 1, Math.floor((longE7 / 360e7 + 0.5) * width))
}

// Source: Web Mercator, EPSG 3857
function rowOf(latE7: number, width: number): number {
  const sin = Math.sin((Math.max(-LAT_MAX_E7, Math.min(LAT_MAX_E7, latE7)) * Math.PI) / 180e7)
  return Math.floor((0.5 - Math.log((1 + sin) / (1 - sin)) / (4 * Math.PI)) * width)
}
