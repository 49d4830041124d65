import { type JudgedParty, judgePace } from '#shared/rounds/cause.ts'
import { type HandedOut, pacePartiesOf } from '#shared/rounds/pace-party.ts'
import type { CartRound } from '#shared/rounds/round.ts'
import type { Clock } from '#shared/time.ts'
import type { Site } from '../site.ts'
import type { Rounds } from './rounds.ts'

interface PaceDeps {
  rounds: Pick<Rounds, 'recent' | 'holes'>
  site: Pick<Site, 'settings'>
  clock: Clock
}

/** Pace of the parties on the course, judged by all carts, whatever the asker may see. */
export class Pace {
  readonly #deps: PaceDeps

  constructor(deps: PaceDeps) {
    this.#deps = deps
  }

  judge(): JudgedParty[] {
    const { rounds, site, clock } = this.#deps
    const nowMs = clock.nowMs()
    const { minutesPerHole, teeIntervalMin, delayFromMin } = site.settings
    const settings = { minutesPerHole, teeIntervalMin, delayFromMin, holes: rounds.holes() }
    return judgePace(pacePartiesOf(rounds.recent(), handedOutOf, nowMs), settings, nowMs)
  }
}

function handedOutOf(_: CartRound): HandedOut | null {
  return null
}
