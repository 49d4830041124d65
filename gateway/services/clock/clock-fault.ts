import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { ClockFault, GatewayClock } from './gateway-clock.ts'

const ADVICE =
  'Nothing is deleted by age until the clock is confirmed or set. If it is right, confirm it with POST ' +
  '/clock/confirm; else set it.'

/** Says to an admin what is wrong with the clock, what that means and what to do. */
export function describeClockFault(
  doubt: ClockFault,
  clock: Pick<GatewayClock, 'nowMs' | 'systemMs' | 'confirmedMs'>,
): string {
  const shown = `The clock of this machine shows ${shownTime(clock.systemMs)}`
  const nowMs = clock.nowMs()
  if (doubt === 'ahead') {
    const aheadMs = nowMs - clock.confirmedMs
    return `${shown}, ${span(aheadMs)} later than what is known to have gone by since it was last confirmed. ${ADVICE}`
  }
  const estimate = `the gateway goes on with ${toIso(nowMs)}, an estimate`
  if (doubt === 'set_back') return `${shown}: it was set back while the gateway ran, and ${estimate}. ${ADVICE}`
  return `${shown}, which cannot be right: ${estimate}. ${ADVICE}`
}

/** Says to an admin who wants a purge that devices know another time. */
export function describeContradiction(saidMs: number, clock: Pick<GatewayClock, 'systemMs'>): string {
  return `The clock of this machine shows ${shownTime(clock.systemMs)}, but the newest time that a device sent is ${toIso(saidMs)}. If the clock is right, confirm it with POST /clock/confirm; else set it.`
}

// a clock may show more than a date can say
function shownTime(atMs: number): string {
  const date = new Date(atMs)
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString()
}

function span(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${Math.floor(ms / DAY_MS)} days`
  if (ms >= 2 * HOUR_MS) return `${Math.floor(ms / HOUR_MS)} hours`
  return `${Math.floor(ms / MINUTE_MS)} minutes`
}
