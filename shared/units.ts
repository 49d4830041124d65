/** What people measure in; all that is stored and sent is metric. */
export type Units = 'metric' | 'imperial'

/** What people type with a unit: km/h or mph, metres or yards, m/s² or ft/s². */
export type Measure = 'speed' | 'length' | 'acceleration'

export const KM_PER_MILE = 1.609344
export const METRES_PER_FOOT = 0.3048
const METRES_PER_YARD = 0.9144

const METRIC_PER_IMPERIAL: Readonly<Record<Measure, number>> = {
  speed: KM_PER_MILE,
  length: METRES_PER_YARD,
  acceleration: METRES_PER_FOOT,
}

/** A stored value as people read it: of miles and yards to a tenth. */
export function toUnits(value: number, measure: Measure, units: Units): number {
  return units === 'metric' ? value : Number((value / METRIC_PER_IMPERIAL[measure]).toFixed(1))
}

/** What people typed as it is stored: fine enough that `toUnits` gives a tenth back as it was typed. */
export function fromUnits(typed: number, measure: Measure, units: Units): number {
  return units === 'metric' ? typed : Number((typed * METRIC_PER_IMPERIAL[measure]).toFixed(3))
}

/** Bytes for people: `1.5 GB`. */
export function inGb(bytes: number): string {
  return `${(bytes / 1e9).toLocaleString('en-US', { maximumFractionDigits: 1 })} GB`
}
