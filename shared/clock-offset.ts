import { DAY_MS, HOUR_MS, MINUTE_MS } from './time.ts'

/** From this difference on people are told that the clocks of a gateway and its head office differ. */
const OFF_MS = MINUTE_MS

/** Whether people are told; a clock that is not known is not wrong. */
export function isOff(offsetMs: number | null): boolean {
  return offsetMs !== null && Math.abs(offsetMs) >= OFF_MS
}

const UNITS = [
  [2 * DAY_MS, DAY_MS, 'days'],
  [2 * HOUR_MS, HOUR_MS, 'hours'],
  [2 * MINUTE_MS, MINUTE_MS, 'minutes'],
] as const

/** How far a clock is from another: "90 seconds ahead of", "10 minutes behind". */
export function describeOffset(offsetMs: number): string {
  const ms = Math.abs(offsetMs)
  const [, unitMs, unit] = UNITS.find(([fromMs]) => ms >= fromMs) ?? [0, 1000, 'seconds']
  return `${Math.round(ms / unitMs).toLocaleString('en-US')} ${unit} ${offsetMs > 0 ? 'ahead of' : 'behind'}`
}
