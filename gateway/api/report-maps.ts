import type { CartSilence } from '#services/reports.ts'
import { fromE7 } from '#shared/geo.ts'
import { cellCentre, cellWidthM, type TrafficGrid } from '#shared/reports/traffic-grid.ts'
import { toIso } from '#shared/time.ts'
import type { SilencesJson, TrafficJson } from '#shared/wire/reports.ts'

interface Range {
  fromMs: number
  toMs: number
}

/** Silences in an answer. */
const SILENCES_MAX = 2000
/** To 1e-7 degree, as positions are stored. */
const E7 = 1e7

/** Where carts were, as the API shows it. */
export function toTrafficJson({ fromMs, toMs }: Range, grid: TrafficGrid): TrafficJson {
  const { zoom, x, y, seconds } = grid.cells()
  const cells = Array.from(seconds, (inCell, i) => {
    const { lat, long } = cellCentre(zoom, x[i] ?? 0, y[i] ?? 0)
    return {
      lat: Math.round(lat * E7) / E7,
      long: Math.round(long * E7) / E7,
      seconds: Math.round(inCell),
    }
  })
  return {
    from: toIso(fromMs),
    to: toIso(toMs),
    // one in the middle stands for all: a course is small
    cell_m: Math.round(cellWidthM(zoom, cells[cells.length >> 1]?.lat ?? 0) * 100) / 100,
    seconds: cells.reduce((sum, cell) => sum + cell.seconds, 0),
    cells,
  }
}

/** Where carts fell silent, as the API shows it. */
export function toSilencesJson(
  { fromMs, toMs }: Range,
  silentAfterS: number,
  silences: readonly CartSilence[],
): SilencesJson {
  return {
    from: toIso(fromMs),
    to: toIso(toMs),
    silent_after_s: silentAfterS,
    total: silences.length,
    silences: silences.slice(0, SILENCES_MAX).map((silence) => ({
      cart: silence.cart,
      at: toIso(silence.fromMs),
      until: silence.isOpen ? null : toIso(silence.untilMs),
      duration: Math.round((silence.untilMs - silence.fromMs) / 1000),
      lat: fromE7(silence.latE7),
      long: fromE7(silence.longE7),
    })),
  }
}
