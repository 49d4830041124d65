import type { Clock, MonotonicClock } from '#shared/time.ts'

export type BothClocks = Clock & MonotonicClock

/** A time that will come, by the gateway's clock and by what goes by until then. */
export interface Moment {
  readonly atMs: number
  readonly monotonicMs: number
}

export function momentIn(clock: BothClocks, ms: number): Moment {
  return { atMs: clock.nowMs() + ms, monotonicMs: clock.monotonicMs() + ms }
}

/** Whether it has come by either clock: a clock that is set back gives nobody more time. */
export function isPast(clock: BothClocks, { atMs, monotonicMs }: Moment): boolean {
  return clock.nowMs() >= atMs || clock.monotonicMs() >= monotonicMs
}
