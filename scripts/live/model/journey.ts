import type { Leg } from './diary.ts'
import { BARN, distanceM, HOLE_SPOTS, POND, type Spot } from './ground.ts'

const DRIVE_MPS = 4
/** Time at a hole: tee, fairway and green. */
const PLAY_MS = 420_000
const KEPT_MS = 600_000
const BETWEEN_MS = 300_000

export type JourneyKind = 'round' | 'nine' | 'away' | 'pond' | 'night'

/** Where the journeys of a cart lead it; in the barn between them. */
export class Journeys {
  readonly #legs: Leg[] = []

  /** Adds a journey from the barn and back, after those before; returns it. `pace` scales the time at a hole. */
  add(kind: JourneyKind, startMs: number, pace: number): readonly Leg[] {
    const begin = this.#legs.length
    const last = this.#legs.at(-1)
    let atMs = Math.max(startMs, (last?.toMs ?? 0) + BETWEEN_MS)
    let at = BARN
    const go = (to: Spot, stayMs: number) => {
      const arrivesMs = atMs + Math.round((distanceM(at, to) / DRIVE_MPS) * 1000)
      this.#legs.push({ fromMs: atMs, toMs: arrivesMs, from: at, to })
      if (stayMs > 0) this.#legs.push({ fromMs: arrivesMs, toMs: arrivesMs + stayMs, from: to, to })
      at = to
      atMs = arrivesMs + stayMs
    }
    for (const { spot, stayMs } of STOPS[kind]) go(spot, Math.round(stayMs * pace))
    go(BARN, 0)
    return this.#legs.slice(begin)
  }

  /** Position and speed at a time of the last ten minutes; legs before that are forgotten. */
  at(atMs: number): { spot: Spot; speedMps: number } {
    while (this.#legs.length > 1 && (this.#legs[1] as Leg).fromMs < atMs - KEPT_MS) this.#legs.shift()
    const leg = this.#legs.findLast(({ fromMs }) => fromMs <= atMs)
    if (leg === undefined) return { spot: BARN, speedMps: 0 }
    if (atMs >= leg.toMs) return { spot: leg.to, speedMps: 0 }
    const share = (atMs - leg.fromMs) / (leg.toMs - leg.fromMs)
    const spot = { x: leg.from.x + share * (leg.to.x - leg.from.x), y: leg.from.y + share * (leg.to.y - leg.from.y) }
    return { spot, speedMps: leg.from === leg.to ? 0 : DRIVE_MPS }
  }

  /** Position at a time of the last ten minutes. */
  before(atMs: number): Spot {
    return this.at(atMs).spot
  }

  /** Next time at which it sets off or stops; infinite for never. */
  nextChangeMs(atMs: number): number {
    return this.#legs.find(({ fromMs }) => fromMs > atMs)?.fromMs ?? Number.POSITIVE_INFINITY
  }

  /** True while a journey is under way. */
  isUnderWay(atMs: number): boolean {
    const last = this.#legs.at(-1)
    return last !== undefined && atMs < last.toMs
  }
}

const AT_HOLES = HOLE_SPOTS.map((spot) => ({ spot, stayMs: PLAY_MS }))

const STOPS: Readonly<Record<JourneyKind, readonly { spot: Spot; stayMs: number }[]>> = {
  round: AT_HOLES,
  nine: [...AT_HOLES.slice(0, 5), ...AT_HOLES.slice(-4)],
  // south of the boundary, and past no hole
  away: [{ spot: { x: 0, y: -1_400 }, stayMs: 1_200_000 }],
  night: [{ spot: { x: 0, y: 200 }, stayMs: 1_800_000 }],
  pond: [
    { spot: { x: 100, y: 650 }, stayMs: 60_000 },
    { spot: POND, stayMs: 900_000 },
  ],
}
