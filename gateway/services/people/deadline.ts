import type { Clock, MonotonicClock } from '#shared/time.ts'

export type BothClocks = Clock & MonotonicClock

/** Deadline by the gateway's clock and by the monotonic clock. */
export interface Moment {
  readonly atMs: number
  readonly monotonicMs: number
}

export function momentIn(clock: BothClocks, ms: number): Moment {
  return { atMs: clock.nowMs() + ms, monotonicMs: clock.monotonicMs() + ms }
}

/** True if the deadline has passed by either clock, so that setting the clock back extends nothing. */
export function isPast(clock: BothClocks, { atMs, monotonicMs }: Moment): boolean {
  return clock.nowMs() >= atMs || clock.monotonicMs() >= monotonicMs
}
