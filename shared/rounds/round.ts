/** A hole of a round; times are event times. A hole that is left and entered again soon is one stay. */
export interface HoleStay {
  readonly hole: number
  readonly enteredMs: number
  /** Null while it is played. */
  readonly leftMs: number | null
}

/** What a cart did between leaving parking and coming back. */
export interface Round {
  /** Stays the same while the round goes on, and when the cart gets another number. */
  readonly id: string
  readonly startedMs: number
  /** Null while it goes on. */
  readonly endedMs: number | null
  /** By `enteredMs`; at least one. Another array whenever one of them is another. */
  readonly holes: readonly HoleStay[]
  readonly distanceM: number
}

/** A device of a cart, as far as it matters for which of them says where the cart is. */
export interface RoundDevice {
  readonly hardwareId: string
  /** Whether it is the lock of the cart: a teebox. */
  readonly isLock: boolean
}

/** What is shown of each round of a cart. */
export interface CartRound {
  /** The cart's key. */
  readonly cart: string
  readonly round: Round
}
