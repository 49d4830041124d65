import { GPS_JITTER_M, SPIKE_FIXES_MAX, samePlaceM, type TripConfig } from '#shared/trips/config.ts'
import { haversineM } from '#shared/trips/earth-distance.ts'
import { type GpsRecord, loadTrack, type TrackRange } from '#shared/trips/track.ts'

/** Fix in the terms of the rules: speeds are km/h, a missing one is null. */
interface Fix {
  atMs: number
  latE7: number
  longE7: number
  reportedKmh: number | null
  /** Properties of the leg into it. */
  isDiscontinuity: boolean
  speedKmh: number
  isMoving: boolean
}

interface Leg {
  from: number
  to: number
  kind: 'gap' | 'still' | 'move'
  metres: number
}

interface Rest {
  from: number
  to: number
  hasGap: boolean
}

export interface ReferenceTrip {
  startMs: number
  endMs: number
  distanceM: number
  maxSpeedKmh: number
  avgSpeedKmh: number
  pointCount: number
}

export interface ReferenceReport {
  trips: ReferenceTrip[]
  stops: { startMs: number; endMs: number; latE7: number; longE7: number }[]
  droppedMs: number[]
}

/**
 * Reference implementation of the trip rules, as plain as possible, for tests to compare with: every leg, rest and
 * candidate is an object, every distance a haversine, and nothing is skipped.
 */
export class TripReference {
  readonly fixes: Fix[]
  readonly dropped: Fix[]
  readonly legs: Leg[]
  readonly rests: Rest[]
  readonly #config: TripConfig

  constructor(records: readonly GpsRecord[], config: TripConfig, range?: TrackRange) {
    this.#config = config
    const loaded = loadFixes(records, range)
    this.fixes = this.#withoutSpikes(loaded)
    this.dropped = loaded.filter((fix) => !this.fixes.includes(fix))
    for (const i of this.fixes.keys()) this.#judgeSpeed(i)
    this.legs = this.#legs()
    this.#stillBlips()
    this.rests = this.#rests()
  }

  report(): ReferenceReport {
    if (this.fixes.length < 2) return { trips: [], stops: [], droppedMs: this.dropped.map(({ atMs }) => atMs) }
    const trips = this.#candidates()
      .map(({ from, to }) => ({ from, to, figures: this.#figures(from, to) }))
      .filter(({ figures }) => this.#isRecorded(figures))
    return {
      trips: trips.map(({ figures }) => figures),
      stops: this.#stops(trips),
      droppedMs: this.dropped.map(({ atMs }) => atMs),
    }
  }

  /** Active trip, from records up to `nowMs` within the lookback. */
  active(nowMs: number, maxAgeSeconds: number): { speedKmh: number; trip: ReferenceTrip } | undefined {
    const end = this.fixes.length - 1
    const last = this.fixes[end]
    if (last === undefined || (nowMs - last.atMs) / 1000 > maxAgeSeconds) return undefined
    const confirmed = this.rests.filter((rest) => this.#isConfirmed(rest))
    const firstMove = (after: number) => this.legs.find(({ kind, from }) => kind === 'move' && from >= after)
    const open = firstMove(confirmed.at(-1)?.to ?? 0)
    if (!last.isMoving) {
      const rest = this.rests.find(({ to }) => to === end) ?? { from: end, to: end, hasGap: false }
      const before = confirmed.filter(({ to }) => to <= rest.from && to !== rest.to).at(-1)
      const move = firstMove(before?.to ?? 0)
      const isPause =
        !rest.hasGap &&
        (nowMs - this.#at(rest.from).atMs) / 1000 < this.#config.minimalParkingDuration &&
        move !== undefined &&
        move.to <= rest.from
      if (!isPause) return undefined
    }
    return { speedKmh: last.speedKmh, trip: this.#figures(open?.from ?? end, end) }
  }

  // spikes

  #withoutSpikes(loaded: Fix[]): Fix[] {
    if (this.#config.maxAcceleration === 0) return loaded
    const accepted: Fix[] = []
    let c = 0
    while (c < loaded.length) {
      const next = at(loaded, c)
      const p = accepted.at(-1)
      if (p === undefined || this.#isPlausible(p, this.#entrySpeed(accepted), next)) {
        accepted.push(next)
        c++
        continue
      }
      const speed = this.#entrySpeed(accepted)
      let back: number | undefined
      for (let k = 1; k <= SPIKE_FIXES_MAX && back === undefined; k++) {
        const n = loaded[c + k]
        if (n === undefined) break
        const before = at(loaded, c + k - 1)
        const speedBefore = before.reportedKmh === null ? speed : before.reportedKmh / 3.6
        if (this.#isPlausible(p, speed, n) && !this.#isPlausible(before, speedBefore, n)) back = c + k
      }
      if (back === undefined) {
        next.isDiscontinuity = true
        accepted.push(next)
        c++
      } else c = back
    }
    return this.#withoutLooseEnds(accepted)
  }

  #withoutLooseEnds(accepted: Fix[]): Fix[] {
    const sideOf = (from: Fix | undefined, to: Fix | undefined): 'loose' | 'torn' | 'held' => {
      if (from === undefined || to === undefined) return 'loose'
      if (to.isDiscontinuity) return 'torn'
      return seconds(from, to) > this.#config.minimalNoDataDuration ? 'loose' : 'held'
    }
    const kept = accepted.filter((fix, i) => {
      const sides = [sideOf(accepted[i - 1], fix), sideOf(fix, accepted[i + 1])]
      return !(sides.includes('torn') && !sides.includes('held'))
    })
    const result: Fix[] = []
    for (const fix of kept) {
      const before = result.at(-1)
      if (before === undefined) fix.isDiscontinuity = false
      else if (accepted[accepted.indexOf(fix) - 1] !== before) {
        fix.isDiscontinuity = !this.#isPlausible(before, this.#entrySpeed(result), fix)
      }
      result.push(fix)
    }
    return result
  }

  #entrySpeed(accepted: Fix[]): number {
    const p = at(accepted, accepted.length - 1)
    if (p.reportedKmh !== null) return p.reportedKmh / 3.6
    const before = accepted.at(-2)
    if (before === undefined || p.isDiscontinuity) return 0
    return metres(before, p) / Math.max(1, seconds(before, p))
  }

  #isPlausible(a: Fix, va: number, b: Fix): boolean {
    const { minimalNoDataDuration, maxAcceleration } = this.#config
    if (seconds(a, b) > minimalNoDataDuration) return true
    const dt = Math.max(1, seconds(a, b))
    if ((metres(a, b) / dt - va) / dt > maxAcceleration) return false
    if (a.reportedKmh === null || b.reportedKmh === null) return true
    return Math.abs(b.reportedKmh - a.reportedKmh) / 3.6 / dt <= maxAcceleration
  }

  // speeds, legs, rests

  #judgeSpeed(i: number): void {
    const fix = this.#at(i)
    fix.speedKmh = fix.reportedKmh ?? this.#legSpeedKmh(i) ?? this.#legSpeedKmh(i - 1) ?? 0
    fix.isMoving = fix.speedKmh >= this.#config.speedThreshold
  }

  /** km/h from fix i to the next; undefined over a gap, a discontinuity, or nothing. */
  #legSpeedKmh(i: number): number | undefined {
    const from = this.fixes[i]
    const to = this.fixes[i + 1]
    if (from === undefined || to === undefined || to.isDiscontinuity || this.#isGap(from, to)) return undefined
    return (metres(from, to) / Math.max(1, seconds(from, to))) * 3.6
  }

  #isGap(from: Fix, to: Fix): boolean {
    return seconds(from, to) > this.#config.minimalNoDataDuration
  }

  #legs(): Leg[] {
    return this.fixes.slice(1).map((to, i) => {
      const from = this.#at(i)
      const kind = this.#isGap(from, to) ? 'gap' : from.isMoving ? 'move' : 'still'
      return { from: i, to: i + 1, kind, metres: metres(from, to) }
    })
  }

  #stillBlips(): void {
    let anchor: number | undefined
    let i = 0
    while (i < this.legs.length) {
      const leg = at(this.legs, i)
      if (leg.kind !== 'move') {
        anchor ??= leg.from
        if (leg.metres >= samePlaceM(this.#config)) anchor = leg.to
        i++
        continue
      }
      let end = i
      while (this.legs[end + 1]?.kind === 'move') end++
      const run = this.legs.slice(i, end + 1)
      const isOver = end + 1 < this.legs.length || !this.#at(this.fixes.length - 1).isMoving
      if (anchor !== undefined && isOver && this.#isBlip(run, this.#at(anchor))) {
        for (const one of run) one.kind = 'still'
      } else anchor = undefined
      i = end + 1
    }
  }

  #isBlip(run: Leg[], anchor: Fix): boolean {
    const ends = [at(run, 0).from, ...run.map(({ to }) => to)]
    return (
      ends.every((i) => metres(anchor, this.#at(i)) <= GPS_JITTER_M) &&
      run.every(({ to }) => !this.#at(to).isDiscontinuity)
    )
  }

  #rests(): Rest[] {
    const rests: Rest[] = []
    let rest: Rest | undefined
    for (const leg of this.legs) {
      if (leg.kind === 'move') {
        rest = undefined
        continue
      }
      if (rest === undefined) {
        rest = { from: leg.from, to: leg.to, hasGap: false }
        rests.push(rest)
      }
      rest.to = leg.to
      rest.hasGap ||= leg.kind === 'gap'
      if (leg.metres >= samePlaceM(this.#config)) rest = undefined
    }
    return rests
  }

  #isConfirmed({ from, to, hasGap }: Rest): boolean {
    return hasGap || seconds(this.#at(from), this.#at(to)) >= this.#config.minimalParkingDuration
  }

  // trips and stops

  #candidates(): { from: number; to: number }[] {
    const end = this.fixes.length - 1
    const confirmed = this.rests.filter((rest) => this.#isConfirmed(rest))
    const starts = [0, ...confirmed.map(({ to }) => to)]
    const ends = [...confirmed.map(({ from }) => from), end]
    return starts.flatMap((start, i) => {
      const until = ends[i] ?? end
      const moves = this.legs.filter(({ kind, from, to }) => kind === 'move' && from >= start && to <= until)
      const first = moves[0]
      const last = moves.at(-1)
      return first === undefined || last === undefined ? [] : [{ from: first.from, to: last.to }]
    })
  }

  #figures(from: number, to: number): ReferenceTrip {
    const fixes = this.fixes.slice(from, to + 1)
    const driven = this.legs
      .slice(from, to)
      .filter((leg) => this.#at(leg.from).isMoving || this.#at(leg.to).isMoving)
      .filter((leg) => !this.#at(leg.to).isDiscontinuity)
    const distanceM = driven.reduce((sum, leg) => sum + leg.metres, 0)
    const durationS = seconds(this.#at(from), this.#at(to))
    return {
      startMs: this.#at(from).atMs,
      endMs: this.#at(to).atMs,
      distanceM,
      maxSpeedKmh: fixes.reduce((max, { speedKmh }) => Math.max(max, speedKmh), 0),
      avgSpeedKmh: durationS === 0 ? 0 : (distanceM / durationS) * 3.6,
      pointCount: fixes.length,
    }
  }

  #isRecorded({ startMs, endMs, distanceM, avgSpeedKmh }: ReferenceTrip): boolean {
    const { minimalTripDuration, minimalTripDistance, minimalAvgSpeed } = this.#config
    return (
      (endMs - startMs) / 1000 >= minimalTripDuration &&
      distanceM >= minimalTripDistance &&
      avgSpeedKmh >= minimalAvgSpeed
    )
  }

  #stops(trips: { from: number; to: number }[]): ReferenceReport['stops'] {
    const end = this.fixes.length - 1
    const rests = [...this.rests]
    if (!this.#at(end).isMoving && rests.at(-1)?.to !== end) rests.push({ from: end, to: end, hasGap: false })
    const stops: Rest[] = []
    for (const rest of rests) {
      if (trips.some(({ from, to }) => rest.from >= from && rest.to <= to && rest.from < to)) continue
      const stop = stops.at(-1)
      const isParted =
        stop === undefined ||
        trips.some(({ from, to }) => from >= stop.to && to <= rest.from) ||
        metres(this.#at(stop.from), this.#at(rest.from)) >= samePlaceM(this.#config)
      if (isParted) stops.push({ ...rest })
      else {
        stop.to = rest.to
        stop.hasGap ||= rest.hasGap
      }
    }
    return stops
      .filter((stop) => this.#isConfirmed(stop))
      .map(({ from, to }) => {
        const { latE7, longE7 } = this.#at(from)
        return { startMs: this.#at(from).atMs, endMs: this.#at(to).atMs, latE7, longE7 }
      })
  }

  #at(i: number): Fix {
    return at(this.fixes, i)
  }
}

function loadFixes(records: readonly GpsRecord[], range?: TrackRange): Fix[] {
  const track = loadTrack(records, range)
  return Array.from({ length: track.count }, (_, i) => {
    const speed = track.speedMilliKmh[i] ?? -1
    return {
      atMs: at(track.atMs, i),
      latE7: at(track.latE7, i),
      longE7: at(track.longE7, i),
      reportedKmh: speed < 0 ? null : speed / 1000,
      isDiscontinuity: false,
      speedKmh: 0,
      isMoving: false,
    }
  })
}

function metres(a: Fix, b: Fix): number {
  return haversineM(a.latE7, a.longE7, b.latE7, b.longE7)
}

function seconds(from: Fix, to: Fix): number {
  return (to.atMs - from.atMs) / 1000
}

function at<Item>(items: ArrayLike<Item>, i: number): Item {
  const item = items[i]
  if (item === undefined) throw new RangeError(`there is no ${i} of ${items.length}`)
  return item
}
