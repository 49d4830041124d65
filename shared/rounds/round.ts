/** Hole of a round; times are event times. A hole that is left and soon entered again counts as one stay. */
export interface HoleStay {
  readonly hole: number
  readonly enteredMs: number
  /** Null while it is being played. */
  readonly leftMs: number | null
}

/** Drive of a cart from leaving parking until its return. */
export interface Round {
  /** Stable while the round lasts, even if the cart gets another number. */
  readonly id: string
  readonly startedMs: number
  /** Null while it lasts. */
  readonly endedMs: number | null
  /** Ordered by `enteredMs`, at least one. A new array whenever an item changes. */
  readonly holes: readonly HoleStay[]
  readonly distanceM: number
}

/** Device of a cart, with the data that decides which device determines the position. */
export interface RoundDevice {
  readonly hardwareId: string
  /** True for the lock device of the cart, a teebox. */
  readonly isLock: boolean
}

/** Displayed data of a cart's round. */
export interface CartRound {
  /** Key of the cart. */
  readonly cart: string
  readonly round: Round
}
