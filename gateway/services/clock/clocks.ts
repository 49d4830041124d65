import type { TimeSource } from '#domain/clock-state.ts'
import type { Events } from '#gateway/events.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, type MonotonicClock, systemClock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import { ClockCheckpoint } from './checkpoint.ts'
import { ClockConfirmation } from './confirmation.ts'
import { GatewayClock } from './gateway-clock.ts'
import { hardwareTimesMs } from './hardware-clock.ts'
import { KernelSync } from './kernel-sync.ts'
import { isTimeSynchronized } from './time-sync.ts'
import { TimestampTrustLimiter } from './timestamp-trust-limiter.ts'

/** Replacements for the time sources of the host. */
export interface ClockOverrides {
  clock?: Clock & MonotonicClock
  isTimeSynchronized?: (systemMs: number) => boolean
  hardwareTimesMs?: () => readonly number[]
}

export function createClock(overrides: ClockOverrides) {
  const system = overrides.clock ?? systemClock
  const kernelSync = new KernelSync(system)
  const isSynchronized =
    overrides.isTimeSynchronized ?? ((systemMs) => isTimeSynchronized(systemMs) || kernelSync.isSynchronized)
  const clock = new GatewayClock({ system, isSynchronized })
  const startedAtMonotonicMs = clock.monotonicMs()
  return {
    clock,
    kernelSync,
    isSynchronized,
    hardwareTimesMs: overrides.hardwareTimesMs ?? hardwareTimesMs,
    /** Returns the start time by the current clock. */
    startedAtMs: () => Math.round(clock.nowMs() - clock.monotonicMs() + startedAtMonotonicMs),
  }
}

interface ClockTrustDeps extends Omit<ReturnType<typeof createClock>, 'kernelSync' | 'startedAtMs'> {
  confirmedBy: readonly TimeSource[]
  store: Pick<Store, 'read' | 'write'>
  events: Events
  log: Log
}

/** Builds the components that decide whether deletion by age, restarts and automatic actions may trust the clock. */
export function createClockTrust(deps: ClockTrustDeps) {
  const brake = new TimestampTrustLimiter(deps.clock)
  const clockMark = new ClockCheckpoint({ ...deps, brake })
  return { brake, clockMark, clockConfirmation: new ClockConfirmation({ ...deps, clockMark }) }
}
