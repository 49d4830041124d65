/** Units of display and input; everything stored or sent is metric. */
export type Units = 'metric' | 'imperial'

/** Quantities entered with a unit: km/h or mph, metres or yards, m/s² or ft/s². */
export type Measure = 'speed' | 'length' | 'acceleration'

export const KM_PER_MILE = 1.609344
const METRES_PER_FOOT = 0.3048
export const METRES_PER_YARD = 0.9144

const METRIC_PER_IMPERIAL: Readonly<Record<Measure, number>> = {
  speed: KM_PER_MILE,
  length: METRES_PER_YARD,
  acceleration: METRES_PER_FOOT,
}

/** Converts a stored value for display; imperial values are rounded to a tenth. */
export function toUnits(value: number, measure: Measure, units: Units): number {
  return units === 'metric' ? value : Number((value / METRIC_PER_IMPERIAL[measure]).toFixed(1))
}

/** Converts an entered value for storage, precisely enough that `toUnits` restores a tenth exactly. */
export function fromUnits(typed: number, measure: Measure, units: Units): number {
  return units === 'metric' ? typed : Number((typed * METRIC_PER_IMPERIAL[measure]).toFixed(3))
}

/** Formats bytes: `1.5 GB`. */
export function inGb(bytes: number): string {
  return `${(bytes / 1e9).toLocaleString('en-US', { maximumFractionDigits: 1 })} GB`
}
