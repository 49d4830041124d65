import { Counter } from '#shared/counter.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { Ceiling } from './ceiling.ts'
import { FairTurns } from './fair-turns.ts'
import { Rates } from './rates.ts'
import { type SlotLimits, Slots } from './slots.ts'
import type { Allowance } from './token-bucket.ts'

/**
 * Every limit that counts per owner (a user, a device, a site, an address) in one program, each under the name its
 * refusals are counted by. A limit is taken before the work is done.
 */
export class Budgets<Name extends string> {
  /** What was refused, by budget. */
  readonly refused: Counter
  readonly #clock: MonotonicClock | undefined

  constructor(names: readonly Name[], clock?: MonotonicClock) {
    this.refused = new Counter(names)
    this.#clock = clock
  }

  /** So many at once. */
  slots(name: Name, limits: SlotLimits): Slots {
    return new Slots(limits, () => this.refused.add(name))
  }

  /** So many at once, counted by whoever has them. */
  ceiling(name: Name, perOwner: number): Ceiling {
    return new Ceiling(perOwner, () => this.refused.add(name))
  }

  /** So many a second. */
  rates(name: Name, allowance: Allowance): Rates {
    return new Rates(allowance, () => this.refused.add(name), this.#clock)
  }

  /** One after the other, and so many waiting. */
  turns(name: Name, maxWaiting: number): FairTurns {
    return new FairTurns(maxWaiting, () => this.refused.add(name))
  }
}
