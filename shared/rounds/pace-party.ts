import { MINUTE_MS } from '#shared/time.ts'
import type { CartRound, Round } from './round.ts'

/** Carts that play together, with their rounds that are in progress or ended in the last hours. */
export interface PaceParty {
  /** Id of the party to which the carts were given, else of the round of its first cart. */
  readonly paceId: string
  /** Party to which the carts were given; null for none. */
  readonly handedOut: HandedOut | null
  /** At least one, in the order of their start. */
  readonly rounds: readonly CartRound[]
}

/** Party of the hand-out in which a round began. */
export interface HandedOut {
  readonly partyId: string
  /** Number of holes that it plays. */
  readonly holes: number
  readonly players: readonly string[]
  /** Oldest first. */
  readonly notes: readonly { at: string; text: string; by: { user_id: string; name: string } | null }[]
}

/** Difference of the times at which carts that play together tee off, and enter a hole. */
const TOGETHER_MS = 4 * MINUTE_MS

/** Groups rounds, given by start: by party, those without one by start hole and by moving on together. */
export function pacePartiesOf(
  rounds: readonly CartRound[],
  handedOutOf: (round: CartRound) => HandedOut | null,
  nowMs: number,
): PaceParty[] {
  const parties = new Map<string, { handedOut: HandedOut | null; rounds: CartRound[] }>()
  for (const one of rounds) {
    const handedOut = handedOutOf(one)
    const known =
      handedOut === null
        ? [...parties.values()].find(
            ({ handedOut: given, rounds: [first] }) =>
              given === null && first && areTogether(first.round, one.round, nowMs),
          )
        : parties.get(handedOut.partyId)
    if (known !== undefined) known.rounds.push(one)
    else parties.set(handedOut?.partyId ?? one.round.id, { handedOut, rounds: [one] })
  }
  return [...parties].map(([paceId, party]) => ({ paceId, ...party }))
}

function areTogether(one: Round, other: Round, nowMs: number): boolean {
  const [first, second] = [one.holes[0], other.holes[0]]
  return first?.hole === second?.hole && isNear(first, second) && haveMovedOn(one, other, nowMs)
}

/** True if both entered their last hole together, or one has just entered the hole after that of the other. */
function haveMovedOn(one: Round, other: Round, nowMs: number): boolean {
  const [last, otherLast] = [one.holes.at(-1), other.holes.at(-1)]
  if (last?.hole === otherLast?.hole) return isNear(last, otherLast)
  const [ahead, behind] = (last?.enteredMs ?? 0) > (otherLast?.enteredMs ?? 0) ? [one, other] : [other, one]
  const [before, entered] = ahead.holes.slice(-2)
  const isJust = (ahead.endedMs ?? nowMs) - (entered?.enteredMs ?? 0) <= TOGETHER_MS
  return isJust && before?.hole === behind.holes.at(-1)?.hole && isNear(before, behind.holes.at(-1))
}

function isNear(one: { enteredMs: number } | undefined, other: { enteredMs: number } | undefined): boolean {
  return Math.abs((one?.enteredMs ?? 0) - (other?.enteredMs ?? 0)) <= TOGETHER_MS
}
