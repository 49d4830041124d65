import { Counter } from '#shared/counter.ts'
import type { MonotonicClock } from '#shared/time.ts'
import { Ceiling } from './ceiling.ts'
import { FairTurns } from './fair-turns.ts'
import { Rates } from './rates.ts'
import { type SlotLimits, Slots } from './slots.ts'
import type { Allowance } from './token-bucket.ts'

/**
 * All limits of a program that count per budget key (a user, device, site or address). Each has a name under which its
 * rejections are counted. Callers take from the limit before they do the work.
 */
export class Budgets<Name extends string> {
  /** Number of rejections by budget name. */
  readonly refused: Counter
  readonly #clock: MonotonicClock | undefined

  constructor(names: readonly Name[], clock?: MonotonicClock) {
    this.refused = new Counter(names)
    this.#clock = clock
  }

  /** Limits concurrent use. */
  slots(name: Name, limits: SlotLimits): Slots {
    return new Slots(limits, () => this.refused.add(name))
  }

  /** Limits concurrent use that the caller counts. */
  ceiling(name: Name, perOwner: number): Ceiling {
    return new Ceiling(perOwner, () => this.refused.add(name))
  }

  /** Limits use per second. */
  rates(name: Name, allowance: Allowance): Rates {
    return new Rates(allowance, () => this.refused.add(name), this.#clock)
  }

  /** Limits the number of waiting jobs, which run one after another. */
  turns(name: Name, maxWaiting: number): FairTurns {
    return new FairTurns(maxWaiting, () => this.refused.add(name))
  }
}
