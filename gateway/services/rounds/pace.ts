import { type JudgedParty, judgePace } from '#shared/rounds/cause.ts'
import { pacePartiesOf } from '#shared/rounds/pace-party.ts'
import type { CartRound } from '#shared/rounds/round.ts'
import type { Clock } from '#shared/time.ts'
import type { Parties } from '../parties/parties.ts'
import type { Site } from '../site.ts'
import type { Rounds } from './rounds.ts'

interface PaceDeps {
  rounds: Pick<Rounds, 'recent' | 'holes'>
  parties: Pick<Parties, 'partyAt'>
  site: Pick<Site, 'settings'>
  clock: Clock
}

/** Pace of the parties on the course, judged by all carts, whatever the asker may see. */
export class Pace {
  readonly #deps: PaceDeps
  #judged: { nowMs: number; parties: readonly JudgedParty[] } | undefined

  constructor(deps: PaceDeps) {
    this.#deps = deps
  }

  /** Returns the time in which the party of a cart waited for the one ahead, since a time. */
  waitedMs(cart: string, fromMs: number): number {
    const party = this.#judgedNow().find(({ party: { rounds } }) => rounds.some((one) => one.cart === cart))
    let untilMs = fromMs
    let waitedMs = 0
    for (const wait of (party?.waits ?? []).toSorted((a, b) => a.fromMs - b.fromMs)) {
      waitedMs += Math.max(0, wait.toMs - Math.max(untilMs, wait.fromMs))
      untilMs = Math.max(untilMs, wait.toMs)
    }
    return waitedMs
  }

  /** Judges once for all carts of an evaluation. */
  #judgedNow(): readonly JudgedParty[] {
    const nowMs = this.#deps.clock.nowMs()
    if (this.#judged?.nowMs !== nowMs) this.#judged = { nowMs, parties: this.judge() }
    return this.#judged.parties
  }

  judge(): JudgedParty[] {
    const { rounds, parties, site, clock } = this.#deps
    const nowMs = clock.nowMs()
    const { minutesPerHole, teeIntervalMin, delayFromMin } = site.settings
    const settings = { minutesPerHole, teeIntervalMin, delayFromMin, holes: rounds.holes() }
    const handedOutOf = ({ cart, round }: CartRound) => {
      const party = parties.partyAt(cart, round.startedMs)
      return party && { ...party, partyId: party.party_id }
    }
    return judgePace(pacePartiesOf(rounds.recent(), handedOutOf, nowMs), settings, nowMs)
  }
}
