import ImageLayer from 'ol/layer/Image.js'
import ImageCanvasSource from 'ol/source/ImageCanvas.js'
import { classOf } from '#dashboard/live/reports/classes.ts'
import type { MapExtent } from './first-view.ts'
import { metresPerUnit, toX, toY } from './mercator.ts'

/** Cells by their centres in degrees, with the value of each. */
export interface HeatCells {
  cell_m: number
  cells: readonly { lat: number; long: number; seconds: number }[]
}

/** Colours from low to high: increasingly dark by day, and increasingly light at night. */
export const HEAT_COLORS = {
  light: ['#f2d06b', '#e8953a', '#c94f24', '#8e1b2b', '#43092b'],
  dark: ['#5b2a4e', '#a8384f', '#dd6b3c', '#f3ae4a', '#fff0a8'],
} as const
/**
 * Size of a square as a share of the cell width: larger for higher values, for users who cannot distinguish colours.
 */
export const HEAT_SHARES = [0.45, 0.6, 0.75, 0.9, 1] as const
/** Minimum visible size of a square. */
const LEAST_PX = 2.5

interface Square {
  x: number
  y: number
  ofClass: number
}

/** Heat map of squares below the carts. Drawn once the map rests. */
export class HeatLayer {
  #squares: readonly Square[] = []
  #width = 0
  #isDark = false
  readonly #source = new ImageCanvasSource({
    canvasFunction: ([west = 0, , , north = 0], resolution, pixelRatio, [width = 0, height = 0]) => {
      const canvas = document.createElement('canvas')
      canvas.width = width
      canvas.height = height
      this.#draw(canvas, { west, north, scale: pixelRatio / resolution, leastPx: LEAST_PX * pixelRatio })
      return canvas
    },
    ratio: 1.5,
  })
  readonly layer = new ImageLayer({ source: this.#source, zIndex: 1 })

  show({ cell_m: cellM, cells }: HeatCells, classes: readonly number[], isDark: boolean): void {
    this.#squares = cells.map(({ lat, long, seconds }) => ({
      x: toX(long),
      y: toY(lat),
      ofClass: classOf(seconds, classes),
    }))
    // the highest values are drawn on top
    this.#squares = this.#squares.toSorted((a, b) => a.ofClass - b.ofClass)
    this.#width = cellM / metresPerUnit(this.#squares[0]?.y ?? 0)
    this.#isDark = isDark
    this.#source.changed()
  }

  #draw(
    canvas: HTMLCanvasElement,
    { west, north, scale, leastPx }: { west: number; north: number; scale: number; leastPx: number },
  ): void {
    const pen = canvas.getContext('2d')
    if (pen === null) return
    const colors = HEAT_COLORS[this.#isDark ? 'dark' : 'light']
    for (const { x, y, ofClass } of this.#squares) {
      const side = Math.max(leastPx, this.#width * scale * (HEAT_SHARES[ofClass] ?? 1))
      pen.fillStyle = colors[ofClass] ?? colors[0]
      pen.fillRect((x - west) * scale - side / 2, (north - y) * scale - side / 2, side, side)
    }
  }
}

/** Returns the extent of nearly all places, without the outliers of a faulty receiver. */
export function extentOfPlaces(places: readonly { lat: number; long: number }[]): MapExtent | null {
  if (places.length === 0) return null
  const edge = (values: number[]): [number, number] => {
    const ascending = values.sort((a, b) => a - b)
    const at = (share: number) => ascending[Math.round(share * (ascending.length - 1))] ?? 0
    return [at(0.01), at(0.99)]
  }
  const [west, east] = edge(places.map(({ long }) => toX(long)))
  const [south, north] = edge(places.map(({ lat }) => toY(lat)))
  return [west, south, east, north]
}
