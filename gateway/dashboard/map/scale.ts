import { METRES_PER_FOOT, type Units } from '#shared/units.ts'

const FEET_PER_MILE = 5_280
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
  const feetPerPx = metresPerPx / METRES_PER_FOOT
  const isFar = feetPerPx * maxPx >= FEET_PER_MILE
  const count = roundBelow((feetPerPx * maxPx) / (isFar ? FEET_PER_MILE : 1))
  const feet = isFar ? count * FEET_PER_MILE : count
  return { widthPx: feet / feetPerPx, label: isFar ? `${count} mi` : `${count} ft` }
}

function roundBelow(distance: number): number {
  const ten = 10 ** Math.floor(Math.log10(distance))
  const step = STEPS.findLast((one) => one * ten <= distance) ?? 1
  // avoids digits such as those of 0.1 + 0.2
  return Number((step * ten).toPrecision(1))
}
