import { METRES_PER_YARD, type Units } from '#shared/units.ts'

const YARDS_PER_MILE = 1_760
const STEPS = [1, 2, 5]

export interface Scale {
  widthPx: number
  label: string
}

/** Returns the longest round distance of at most `maxPx`, given the true metres per pixel. */
export function scaleOf(metresPerPx: number, units: Units, maxPx = 110): Scale {
  if (units === 'metric') {
    const metres = roundBelow(metresPerPx * maxPx)
    const label = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`
    return { widthPx: metres / metresPerPx, label }
  }
  const yardsPerPx = metresPerPx / METRES_PER_YARD
  const isFar = yardsPerPx * maxPx >= YARDS_PER_MILE
  const count = roundBelow((yardsPerPx * maxPx) / (isFar ? YARDS_PER_MILE : 1))
  const yards = isFar ? count * YARDS_PER_MILE : count
  return { widthPx: yards / yardsPerPx, label: isFar ? `${count} mi` : `${count} yd` }
}

function roundBelow(distance: number): number {
  const ten = 10 ** Math.floor(Math.log10(distance))
  const step = STEPS.findLast((one) => one * ten <= distance) ?? 1
  // avoids digits such as those of 0.1 + 0.2
  return Number((step * ten).toPrecision(1))
}
