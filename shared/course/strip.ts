import { metresBetween, type Place } from './plane.ts'

/** Limit of a mitre, as a multiple of the width. */
const MITRE_MAX = 1.6
const CAP_CORNERS = 5

/** Ring around a line at `halfM` metres, also beyond its ends, counter-clockwise; may cross itself at sharp bends. */
export function stripAround(line: readonly Place[], halfM: number): Place[] {
  const back = line.toReversed()
  return [...rightSide(line, halfM), ...cap(line, halfM), ...rightSide(back, halfM), ...cap(back, halfM)]
}

/** Removes corners that are less than `toleranceM` from the straight line. Source: Douglas and Peucker, 1973. */
export function simplifyLine(line: readonly Place[], toleranceM: number): Place[] {
  const [first, last] = [line[0], line.at(-1)]
  if (first === undefined || last === undefined || line.length < 3) return [...line]
  let [farthest, most] = [0, toleranceM]
  for (const [i, place] of line.entries()) {
    const distance = distanceToSegment(place, first, last)
    if (distance > most) [farthest, most] = [i, distance]
  }
  if (farthest === 0) return [first, last]
  return [
    ...simplifyLine(line.slice(0, farthest + 1), toleranceM).slice(0, -1),
    ...simplifyLine(line.slice(farthest), toleranceM),
  ]
}

/**
 * Places along a line including its ends, `stepM` apart; on a long line `most` places that reach as far as they can.
 */
export function stepsAlong(line: readonly Place[], stepM: number, most: number): Place[] {
  const lengthM = line.reduce((sum, place, i) => sum + metresBetween(line[i - 1] ?? place, place), 0)
  const steps = Math.max(1, Math.min(most - 1, Math.ceil(lengthM / stepM)))
  const places = line.slice(0, 1)
  let passedM = 0
  for (const [i, to] of line.entries()) {
    const from = line[i - 1] ?? to
    const pieceM = metresBetween(from, to)
    while (places.length < steps && (places.length * lengthM) / steps <= passedM + pieceM) {
      const share = pieceM === 0 ? 1 : ((places.length * lengthM) / steps - passedM) / pieceM
      places.push({ xM: from.xM + (to.xM - from.xM) * share, yM: from.yM + (to.yM - from.yM) * share })
    }
    passedM += pieceM
  }
  return [...places, ...line.slice(-1)]
}

function rightSide(line: readonly Place[], halfM: number): Place[] {
  return line.map((place, i) => {
    const into = direction(line[i - 1] ?? place, place)
    const out = direction(place, line[i + 1] ?? place)
    const before = into ?? out ?? { xM: 1, yM: 0 }
    const after = out ?? before
    // points to the right of both segments
    const sum = { xM: before.yM + after.yM, yM: -before.xM - after.xM }
    const length = Math.hypot(sum.xM, sum.yM)
    if (length < 1e-9) return offset(place, { xM: before.yM, yM: -before.xM }, halfM)
    const middle = { xM: sum.xM / length, yM: sum.yM / length }
    const reach = Math.min(MITRE_MAX, 2 / length)
    return offset(place, middle, halfM * reach)
  })
}

/** Half circle around the end of a line, from its right to its left. */
function cap(line: readonly Place[], halfM: number): Place[] {
  const [before, end] = [line.at(-2), line.at(-1)]
  if (end === undefined) return []
  const ahead = (before === undefined ? null : direction(before, end)) ?? { xM: 1, yM: 0 }
  const right = Math.atan2(-ahead.xM, ahead.yM)
  return Array.from({ length: CAP_CORNERS }, (_, i) => {
    const angle = right + (Math.PI * (i + 1)) / (CAP_CORNERS + 1)
    return offset(end, { xM: Math.cos(angle), yM: Math.sin(angle) }, halfM)
  })
}

function offset({ xM, yM }: Place, way: Place, metres: number): Place {
  return { xM: xM + way.xM * metres, yM: yM + way.yM * metres }
}

function direction(from: Place, to: Place): Place | null {
  const length = metresBetween(from, to)
  return length < 1e-6 ? null : { xM: (to.xM - from.xM) / length, yM: (to.yM - from.yM) / length }
}

function distanceToSegment(place: Place, from: Place, to: Place): number {
  const [dx, dy] = [to.xM - from.xM, to.yM - from.yM]
  const squared = dx * dx + dy * dy
  const along = squared === 0 ? 0 : ((place.xM - from.xM) * dx + (place.yM - from.yM) * dy) / squared
  const share = Math.min(1, Math.max(0, along))
  return Math.hypot(place.xM - from.xM - share * dx, place.yM - from.yM - share * dy)
}
