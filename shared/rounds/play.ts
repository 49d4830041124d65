import type { HoleStay } from './round.ts'
import { holeAfter, type RoundZones } from './round-zones.ts'

/** Shorter presence in a hole's zone counts as crossing: at 15 km/h this is 125 m, and a hole is about 76 m wide. */
const CROSSED_MS = 30_000
/** Time in the next of two overlapping holes after which it counts as being played, since the cart entered it. */
const TAKEN_OVER_MS = 60_000
/** A shorter stay on another hole between two consecutive ones counts as a detour: no hole is played in less. */
const DETOUR_MS = 300_000
/** Number of other holes after which a hole is played again; before that the cart only came back for something. */
const LAP_HOLES = 3

/** Hole whose zone contains the cart, and since when. */
export interface HolePresence {
  hole: number
  sinceMs: number
}

/** Holes played: JSON, replaced as a whole when it changes. */
export interface PlayedHoles {
  readonly holes: readonly HoleStay[]
  /** Current stay with its start, and the time at which the same hole had been left before; null for none. */
  readonly visit: {
    readonly index: number
    readonly sinceMs: number
    readonly leftBeforeMs: number | null
  } | null
}

const NONE: readonly HolePresence[] = []

export const NO_HOLES_PLAYED: PlayedHoles = { holes: [], visit: null }

/**
 * Advances the hole being played; `inside` are the holes whose zones contain the cart at `atMs`, and `leftMs` is the
 * time at which it left the zone of the hole that it played, if it did.
 *
 * The hole stays the same while the cart is in its zone. Where holes overlap, the next one by number takes over a
 * minute after the cart entered it. Without a current hole the next by number counts, else the one with the longest
 * presence.
 */
export function playOn(
  play: PlayedHoles,
  inside: readonly HolePresence[],
  { atMs, leftMs }: { atMs: number; leftMs: number },
  roundZones: RoundZones,
): PlayedHoles {
  const current = currentOf(play)
  if (current === null && inside.length === 0) return play
  const picked = pick(play, inside, atMs, roundZones)
  if (current !== null && picked?.hole === current.hole) return play
  if (picked === null) return leaveHole(play, leftMs)
  const isTakenOver = current !== null && inside.some(({ hole }) => hole === current.hole)
  if (!isTakenOver) return enter(withoutDetour(leaveHole(play, leftMs), picked.hole, roundZones), picked)
  const isOwed = picked.hole === holeOwed(play, roundZones)
  return enter(isOwed ? withdraw(play) : leaveHole(play, picked.sinceMs), picked)
}

/** True if `playOn` changes nothing more while the cart stays in the zones of these holes, which were passed to it. */
export function isKept(play: PlayedHoles, inside: readonly HolePresence[], roundZones: RoundZones): boolean {
  const current = currentOf(play)
  return current === null ? inside.length === 0 : successors(play, current, inside, roundZones).length === 0
}

/** Ends the current stay, if there is one: the cart is back in parking, or its position is unknown. */
export function leaveHole(play: PlayedHoles, atMs: number): PlayedHoles {
  const { holes, visit } = play
  if (visit === null) return play
  if (atMs - visit.sinceMs < CROSSED_MS) return withdraw(play)
  return { holes: changed(holes, visit.index, atMs), visit: null }
}

/** Reverts the current stay to the state before it. */
function withdraw(play: PlayedHoles): PlayedHoles {
  const { holes, visit } = play
  if (visit === null) return play
  const before =
    visit.leftBeforeMs === null
      ? holes.filter((_, i) => i !== visit.index)
      : changed(holes, visit.index, visit.leftBeforeMs)
  return { holes: before, visit: null }
}

/** Removes the last stay if it was a detour between the hole before it and the next one, which is entered now. */
function withoutDetour(play: PlayedHoles, entered: number, roundZones: RoundZones): PlayedHoles {
  const [before, last] = [play.holes.at(-2), play.holes.at(-1)]
  if (before === undefined || last?.leftMs == null || last.leftMs - last.enteredMs >= DETOUR_MS) return play
  const isDetour = last.hole !== entered && holeAfter(roundZones, before.hole) === entered
  return isDetour ? { ...play, holes: play.holes.slice(0, -1) } : play
}

function enter({ holes }: PlayedHoles, { hole, sinceMs }: HolePresence): PlayedHoles {
  const leftMs = Math.max(...holes.map((stay) => stay.leftMs ?? 0), 0)
  const enteredMs = Math.max(sinceMs, leftMs)
  const index = holes.findLastIndex((stay) => stay.hole === hole)
  const known = holes[index]
  if (known === undefined || holes.length - 1 - index >= LAP_HOLES) {
    const visit = { index: holes.length, sinceMs: enteredMs, leftBeforeMs: null }
    return { holes: [...holes, { hole, enteredMs, leftMs: null }], visit }
  }
  const visit = { index, sinceMs: enteredMs, leftBeforeMs: known.leftMs }
  return { holes: changed(holes, index, null), visit }
}

function pick(
  play: PlayedHoles,
  inside: readonly HolePresence[],
  atMs: number,
  roundZones: RoundZones,
): HolePresence | null {
  const current = currentOf(play)
  const owed = holeOwed(play, roundZones)
  const still = current && inside.find(({ hole }) => hole === current.hole)
  if (current === null || still == null) return inside.find(({ hole }) => hole === owed) ?? longest(inside)
  const takes = ({ sinceMs }: HolePresence) => atMs - sinceMs >= TAKEN_OVER_MS
  return successors(play, current, inside, roundZones).find(takes) ?? still
}

/** Returns the holes that replace the current one once the cart has been in them for long enough. */
function successors(
  play: PlayedHoles,
  current: HoleStay,
  inside: readonly HolePresence[],
  roundZones: RoundZones,
): readonly HolePresence[] {
  if (inside.length === 1) return NONE
  const next = [holeAfter(roundZones, current.hole), holeOwed(play, roundZones)]
  const visitMs = play.visit?.sinceMs ?? 0
  return inside.filter(({ hole, sinceMs }) => hole !== current.hole && next.includes(hole) && sinceMs > visitMs)
}

/** Returns the hole after the last one that was left; the cart may be on another whose zone surrounds it. */
function holeOwed(play: PlayedHoles, roundZones: RoundZones): number | null {
  const last = lastLeft(play)
  return last === null ? null : holeAfter(roundZones, last.hole)
}

function longest(inside: readonly HolePresence[]): HolePresence | null {
  let found: HolePresence | null = null
  for (const one of inside) {
    const isLonger = found === null || one.sinceMs < found.sinceMs
    if (isLonger || (one.sinceMs === found?.sinceMs && one.hole < found.hole)) found = one
  }
  return found
}

function currentOf({ holes, visit }: PlayedHoles): HoleStay | null {
  return visit === null ? null : (holes[visit.index] ?? null)
}

function lastLeft({ holes }: PlayedHoles): HoleStay | null {
  let last: HoleStay | null = null
  for (const stay of holes) if (stay.leftMs !== null && stay.leftMs >= (last?.leftMs ?? 0)) last = stay
  return last
}

function changed(holes: readonly HoleStay[], index: number, leftMs: number | null): HoleStay[] {
  return holes.map((stay, i) => (i === index ? { ...stay, leftMs } : stay))
}
