import { AREAS, type Spot, sideOf } from './ground.ts'

/** Positions of a cart that are kept, a few hours of driving. */
const KEPT = 1_000
/** Positions that come earlier raise events, and those that come later none. */
const [LIVE_MS, LATE_MS] = [60_000, 330_000]

interface Position {
  readonly atMs: number
  /** Time at which it was sent first. */
  readonly sentMs: number
  readonly isLive: boolean
  readonly spot: Spot
  /** Side of each area on which it is: 1 well inside, -1 well outside, 0 near the edge. */
  readonly sides: readonly number[]
}

export interface HeardPosition {
  readonly atMs: number
  /** Time at which it was sent first, and at which it was acknowledged. */
  readonly sentMs: number
  readonly heardMs: number
  readonly spot: Spot | undefined
}

/** Crossing of an edge that the gateway must report, between two times. */
export interface Crossing {
  readonly zoneId: string
  readonly event: 'enter' | 'exit'
  readonly fromMs: number
  readonly toMs: number
}

/** Positions of a cart that the gateway has acknowledged, as far as zones are concerned. */
export class ZonePath {
  /** Time since which its last two positions have come in time; infinite while they have not. */
  currentSinceMs = 0
  readonly #positions: Position[] = []

  heard({ atMs, sentMs, heardMs, spot }: HeardPosition): void {
    const before = this.#positions.at(-1)
    const isKnown = spot !== undefined && atMs > (before?.atMs ?? 0)
    const isLive = isKnown && heardMs - atMs < LIVE_MS
    const isSame = spot !== undefined && before?.spot.x === spot.x && before.spot.y === spot.y
    const sides = isSame ? before.sides : AREAS.map(({ ring }) => (spot === undefined ? 0 : sideOf(spot, ring)))
    this.#positions.push({
      atMs: Math.max(atMs, before?.atMs ?? 0),
      sentMs,
      isLive,
      spot: spot ?? { x: 0, y: 0 },
      sides,
    })
    const isCurrent = this.#positions.slice(-2).every((one) => one.isLive)
    this.currentSinceMs = isCurrent ? Math.min(this.currentSinceMs, heardMs) : Number.POSITIVE_INFINITY
    if (this.#positions.length > 1.1 * KEPT) this.#positions.splice(0, this.#positions.length - KEPT)
  }

  /** Crossings with two positions well on either side, all of which came in time, between two times. */
  crossings(fromMs: number, toMs: number): Crossing[] {
    const found: Crossing[] = []
    const positions = this.#positions.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    for (const [i, { id: zoneId }] of AREAS.entries()) {
      // the last two positions well on one side, with their number
      let [side, count, lastMs] = [0, 0, 0]
      for (const [at, { atMs, isLive, sides }] of positions.entries()) {
        const now = sides[i] ?? 0
        if (!isLive) count = 0
        else if (now !== 0 && now === side) [count, lastMs] = [count + 1, atMs]
        else if (now !== 0) {
          const next = positions[at + 1]
          const isConfirmed = next?.isLive === true && next.sides[i] === now
          if (count > 1 && isConfirmed)
            found.push({ zoneId, event: now === 1 ? 'enter' : 'exit', fromMs: lastMs, toMs: next.atMs })
          ;[side, count, lastMs] = [now, 1, atMs]
        }
      }
    }
    return found
  }

  /** True if the last two positions came in time: others do not show in which zones it is now. */
  get isCurrent(): boolean {
    return Number.isFinite(this.currentSinceMs)
  }

  /** True if the positions around a time were sent too late for events. */
  isLateAt(atMs: number): boolean {
    const after = this.#positions.findIndex((one) => one.atMs > atMs)
    const around = this.#positions.slice(Math.max(0, after - 2), after + 2)
    return after > 0 && around.every((one) => one.sentMs - one.atMs > LATE_MS)
  }

  /** True if the cart stood at a time, well on one side of a zone, by positions around it that came in time. */
  stoodAt(zoneId: string, atMs: number): boolean {
    const i = AREAS.findIndex(({ id }) => id === zoneId)
    const after = this.#positions.findIndex((one) => one.atMs > atMs)
    // two confirm an event, so that the first of the stay may raise it with the second
    const [first, ...others] = after < 3 ? [] : this.#positions.slice(after - 3, after + 1)
    if (first?.isLive !== true) return false
    return others.every(
      (one) => one.spot.x === first.spot.x && one.spot.y === first.spot.y && one.sides[i] !== 0 && one.isLive,
    )
  }
}
