import { MINUTE_MS } from '#shared/time.ts'
import type { PaceParty } from './pace-party.ts'
import type { HoleStay } from './round.ts'

export interface PaceSettings {
  readonly minutesPerHole: number
  readonly teeIntervalMin: number
  /** Delay in minutes from which a party is late. */
  readonly delayFromMin: number
  /** Numbers of the holes of the course, ascending. */
  readonly holes: readonly number[]
}

export const CAUSES = ['delays_others', 'delayed', 'behind', 'on_pace'] as const
export type Cause = (typeof CAUSES)[number]

/** Pace of a party on a round; other parties are given by their `paceId`. */
export interface JudgedParty {
  readonly party: PaceParty
  readonly startHole: number
  /** Null between two holes. */
  readonly currentHole: number | null
  readonly holesDone: number
  readonly lateMin: number
  readonly waitedMin: number
  readonly ownMin: number
  /** Hole on which it lost most of its own minutes. */
  readonly slowestHole: number
  /** Party in front on the present or last hole, if it is on a round. */
  readonly ahead: string | null
  readonly gapMin: number | null
  readonly gapHoles: number | null
  readonly isWaiting: boolean
  /** Times in which it waited on the present hole, or for the next one; they may overlap. */
  readonly waits: readonly Span[]
  readonly cause: Cause
  readonly delayedBy: string | null
  readonly delays: readonly string[]
  readonly projectedEndMs: number | null
}

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** Presence on a hole, from the entry of the first cart until the last one leaves; `leftMs` is null until then. */
interface Visit extends HoleStay {
  readonly track: Track
}

/** Time for a hole: from leaving the one before, or from entering the first. */
interface Stay {
  readonly visit: Visit
  readonly fromMs: number
  readonly toMs: number
  /** Visit of the party in front. */
  readonly ahead: Visit | null
  readonly lateMin: number
  readonly waitedMin: number
}

interface Track {
  readonly party: PaceParty
  readonly isOver: boolean
  /** At least one, in the order of their entry. */
  readonly visits: Visit[]
  /** Stays on the holes that it has left, and on the present one. */
  readonly stays: Stay[]
  lateMin: number
  waitedMin: number
  /** Parties for which it waited, the longest first. */
  waitedFor: readonly Track[]
}

/** Age of an entry from which that party is too far away to be in front. */
const AHEAD_MS = 60 * MINUTE_MS
const MOST_HOLES = 18

/**
 * Finds for each party on a round how late it is, how much of that it waited for others, and by whom it is delayed; the
 * worst come first. Rounds that are over count as causes only, but with `withEnded`, which judges them at their end.
 * Source: rulings G19 to G29 on the day of a course.
 */
export function judgePace(
  parties: readonly PaceParty[],
  settings: PaceSettings,
  nowMs: number,
  withEnded = false,
): JudgedParty[] {
  const { minutesPerHole, teeIntervalMin, delayFromMin, holes } = settings
  /** Time that two parties share a hole when both are on pace. */
  const sharedMin = Math.max(0, minutesPerHole - teeIntervalMin)
  const tracks = parties.map(trackOf)
  const entries = Map.groupBy(
    tracks.flatMap(({ visits }) => visits).sort((a, b) => a.enteredMs - b.enteredMs),
    ({ hole }) => hole,
  )

  /** Returns the visit of the party in front of one that enters the hole at this time. */
  function visitAhead(track: Track, hole: number, enteredMs: number): Visit | null {
    const isAhead = (one: Visit) => one.track !== track && one.enteredMs < enteredMs
    const last = entries.get(hole)?.findLast(isAhead)
    return last === undefined || enteredMs - last.enteredMs > AHEAD_MS ? null : last
  }

  function overlapMin(visit: Visit | null, fromMs: number, toMs: number): number {
    if (visit === null) return 0
    return Math.max(0, Math.min(toMs, visit.leftMs ?? nowMs) - Math.max(fromMs, visit.enteredMs)) / MINUTE_MS
  }

  function measure(track: Track): void {
    const waits = new Map<Track, number>()
    let fromMs = track.visits[0]?.enteredMs ?? nowMs
    for (const visit of track.visits) {
      const toMs = Math.max(fromMs, visit.leftMs ?? nowMs)
      const ahead = visitAhead(track, visit.hole, visit.enteredMs)
      const beyondMin = (toMs - fromMs) / MINUTE_MS - minutesPerHole
      const lateMin = visit.leftMs === null ? Math.max(0, beyondMin) : beyondMin
      const waitedMin = Math.min(Math.max(0, beyondMin), Math.max(0, overlapMin(ahead, fromMs, toMs) - sharedMin))
      track.stays.push({ visit, fromMs, toMs, ahead, lateMin, waitedMin })
      track.lateMin += lateMin
      track.waitedMin += waitedMin
      if (ahead !== null && waitedMin > 0) waits.set(ahead.track, (waits.get(ahead.track) ?? 0) + waitedMin)
      if (visit.leftMs === null) break
      fromMs = toMs
    }
    track.waitedFor = [...waits].sort(([, a], [, b]) => b - a).map(([other]) => other)
  }

  const isLate = ({ lateMin }: Track) => lateMin >= delayFromMin
  const isDelayed = (track: Track) => isLate(track) && track.lateMin - track.waitedMin < delayFromMin

  function delayedBy(track: Track): Track | null {
    if (!isDelayed(track)) return null
    for (let one of track.waitedFor) {
      const seen = new Set([track])
      while (isDelayed(one) && !seen.has(one)) {
        seen.add(one)
        const [next] = one.waitedFor
        if (next === undefined || seen.has(next)) break
        one = next
      }
      if (!one.isOver) return one
    }
    return null
  }

  /** Times in which the party ahead was in the way, or waited there itself, since this one is due on the hole. */
  function waitsFor(ahead: Visit | null, sinceMs: number): readonly Span[] {
    if (ahead === null) return []
    const metMs = Math.max(sinceMs, ahead.enteredMs)
    const toMs = ahead.leftMs ?? nowMs
    const stay = ahead.track.stays.find(({ visit }) => visit === ahead)
    const own = stay === undefined ? [] : waitsFor(stay.ahead, stay.fromMs)
    return [
      ...own.map((wait) => ({ fromMs: Math.max(wait.fromMs, metMs), toMs: Math.min(wait.toMs, toMs) })),
      { fromMs: metMs + sharedMin * MINUTE_MS, toMs },
    ].filter((wait) => wait.fromMs <= wait.toMs)
  }

  function waitsOf(track: Track): readonly Span[] {
    const { visit, fromMs, toMs, ahead } = lastStay(track)
    if (visit.leftMs === null) return waitsFor(ahead, fromMs)
    return waitsFor(visitAhead(track, holeAfter(visit.hole), nowMs), toMs)
  }

  function holeAfter(hole: number): number {
    return holes.find((one) => one > hole) ?? holes[0] ?? hole
  }

  /** Number of holes from one to the other in order of play. */
  function holesBetween(from: number, to: number): number {
    const all = [...new Set([...holes, from, to])].sort((a, b) => a - b)
    return (all.indexOf(to) - all.indexOf(from) + all.length) % all.length
  }

  function gapOf(track: Track): Pick<JudgedParty, 'ahead' | 'gapMin' | 'gapHoles'> {
    const { visit, ahead } = lastStay(track)
    if (ahead === null || ahead.track.isOver) return { ahead: null, gapMin: null, gapHoles: null }
    const betweenMs = visit.enteredMs - ahead.enteredMs
    return {
      ahead: ahead.track.party.paceId,
      gapMin: Math.max(betweenMs, ahead.leftMs === null ? 0 : nowMs - ahead.leftMs) / MINUTE_MS,
      gapHoles: holesBetween(visit.hole, lastStay(ahead.track).visit.hole),
    }
  }

  function projectedEndMs(track: Track): number | null {
    const { visit, fromMs } = lastStay(track)
    const left = (track.party.handedOut?.holes ?? Math.min(holes.length, MOST_HOLES)) - holesDone(track)
    if (left <= 0) return null
    const onHoleMin = visit.leftMs === null ? (nowMs - fromMs) / MINUTE_MS : 0
    return nowMs + (minutesPerHole * left - Math.min(minutesPerHole, onHoleMin)) * MINUTE_MS
  }

  for (const track of tracks) measure(track)
  const blamed = new Map(tracks.map((track) => [track, delayedBy(track)]))
  const onRound = tracks.filter(({ isOver }) => !isOver)

  function judge(track: Track): JudgedParty {
    const { party, visits, stays, lateMin, waitedMin } = track
    const delays = onRound.filter((one) => blamed.get(one) === track).map((one) => one.party.paceId)
    const own = delays.length > 0 ? 'delays_others' : 'behind'
    const { visit } = lastStay(track)
    const waits = waitsOf(track)
    const ownMinOf = (stay: Stay) => stay.lateMin - stay.waitedMin
    return {
      party,
      startHole: visits[0]?.hole ?? visit.hole,
      currentHole: visit.leftMs === null ? visit.hole : null,
      holesDone: holesDone(track),
      lateMin,
      waitedMin,
      ownMin: lateMin - waitedMin,
      slowestHole: stays.reduce((most, stay) => (ownMinOf(stay) > ownMinOf(most) ? stay : most)).visit.hole,
      ...gapOf(track),
      isWaiting: waits.some(({ toMs }) => toMs === nowMs),
      waits,
      cause: !isLate(track) ? 'on_pace' : isDelayed(track) ? 'delayed' : own,
      delayedBy: blamed.get(track)?.party.paceId ?? null,
      delays,
      projectedEndMs: projectedEndMs(track),
    }
  }
  return (withEnded ? tracks : onRound).map(judge).sort(byCause)
}

function trackOf(party: PaceParty): Track {
  const visits: Visit[] = []
  const isOver = party.rounds.every(({ round }) => round.endedMs !== null)
  const track: Track = { party, isOver, visits, stays: [], lateMin: 0, waitedMin: 0, waitedFor: [] }
  for (const stays of Map.groupBy(party.rounds, ({ cart }) => cart).values()) {
    const times = new Map<number, number>()
    for (const { hole, enteredMs, leftMs } of stays.flatMap(({ round }) => round.holes)) {
      const time = times.get(hole) ?? 0
      times.set(hole, time + 1)
      const at = visits.filter((one) => one.hole === hole)[time]
      if (at === undefined) visits.push({ track, hole, enteredMs, leftMs })
      else
        visits[visits.indexOf(at)] = {
          ...at,
          enteredMs: Math.min(at.enteredMs, enteredMs),
          leftMs: at.leftMs === null || leftMs === null ? null : Math.max(at.leftMs, leftMs),
        }
    }
  }
  visits.sort((a, b) => a.enteredMs - b.enteredMs)
  return track
}

/** Returns the stay on the present hole, else on the last one. */
function lastStay({ stays }: Track): Stay {
  const last = stays.at(-1)
  if (last === undefined) throw new Error('a round without a hole has no pace')
  return last
}

function holesDone({ stays }: Track): number {
  return stays.filter(({ visit }) => visit.leftMs !== null).length
}

function byCause(a: JudgedParty, b: JudgedParty): number {
  const worseOf = ({ cause, lateMin, ownMin }: JudgedParty) =>
    cause === 'delays_others' || cause === 'behind' ? ownMin : lateMin
  const delaysOf = ({ cause, delays }: JudgedParty) => (cause === 'delays_others' ? delays.length : 0)
  return (
    CAUSES.indexOf(a.cause) - CAUSES.indexOf(b.cause) ||
    delaysOf(b) - delaysOf(a) ||
    worseOf(b) - worseOf(a) ||
    (a.party.paceId < b.party.paceId ? -1 : 1)
  )
}
