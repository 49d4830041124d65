import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { ClockFault, GatewayClock } from './gateway-clock.ts'

const ADVICE =
  'Nothing is deleted by age until the clock is confirmed or set. If it is right, confirm it with POST ' +
  '/clock/confirm; else set it.'

/** Describes a clock fault to an admin: the problem, its effect and the remedy. */
export function describeClockFault(
  doubt: ClockFault,
  clock: Pick<GatewayClock, 'nowMs' | 'systemMs' | 'confirmedMs'>,
): string {
  const shown = `The clock of the gateway computer shows ${shownTime(clock.systemMs)}`
  const nowMs = clock.nowMs()
  if (doubt === 'ahead') {
    const aheadMs = nowMs - clock.confirmedMs
    return `${shown}, ${span(aheadMs)} later than its last confirmation plus the time known to have elapsed. ${ADVICE}`
  }
  const estimate = `the gateway uses the estimate ${toIso(nowMs)}`
  if (doubt === 'set_back') return `${shown}: it was set back while the gateway ran, and ${estimate}. ${ADVICE}`
  return `${shown}, which is implausible: ${estimate}. ${ADVICE}`
}

/** Explains to an admin who requests a purge that the times sent by devices contradict the clock. */
export function describeContradiction(deviceMs: number, clock: Pick<GatewayClock, 'systemMs'>): string {
  const shown = `The clock of the gateway computer shows ${shownTime(clock.systemMs)}`
  const newest = `the newest time that a device sent is ${toIso(deviceMs)}`
  return `${shown}, but ${newest}. If the clock is right, confirm it with POST /clock/confirm; else set it.`
}

// a clock may show a time outside the range of a date
function shownTime(atMs: number): string {
  const date = new Date(atMs)
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString()
}

function span(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${Math.floor(ms / DAY_MS)} days`
  if (ms >= 2 * HOUR_MS) return `${Math.floor(ms / HOUR_MS)} hours`
  return `${Math.floor(ms / MINUTE_MS)} minutes`
}
