import { DAY_MS, HOUR_MS, MINUTE_MS } from './time.ts'

/** Clock difference between gateway and hub from which users are warned. */
const OFF_MS = MINUTE_MS

/** True if users are warned; an unknown offset counts as correct. */
export function isOff(offsetMs: number | null): boolean {
  return offsetMs !== null && Math.abs(offsetMs) >= OFF_MS
}

const UNITS = [
  [2 * DAY_MS, DAY_MS, 'days'],
  [2 * HOUR_MS, HOUR_MS, 'hours'],
  [2 * MINUTE_MS, MINUTE_MS, 'minutes'],
] as const

/** Describes a clock difference: "90 seconds ahead of", "10 minutes behind". */
export function describeOffset(offsetMs: number): string {
  const ms = Math.abs(offsetMs)
  const [, unitMs, unit] = UNITS.find(([fromMs]) => ms >= fromMs) ?? [0, 1000, 'seconds']
  return `${Math.round(ms / unitMs).toLocaleString('en-US')} ${unit} ${offsetMs > 0 ? 'ahead of' : 'behind'}`
}
