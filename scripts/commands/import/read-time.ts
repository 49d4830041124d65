import { hasZone, parseIso } from '#shared/time.ts'

const DECIMAL = /^\d{1,16}(\.\d{1,9})?$/

/**
 * Milliseconds since 1970, or the reason why that is impossible. Numbers are seconds or milliseconds since 1970
 * if only one is plausible (1973 to 2286). Text without a zone is read only if `isUtc`: any zone may be meant.
 */
export function readTime(value: unknown, isUtc: boolean): number | string {
  if (typeof value === 'number') return epochTime(value)
  if (value === undefined || value === null || value === '') return 'no_time'
  if (typeof value !== 'string') return 'invalid_time'
  const text = value.trim()
  if (text === '') return 'no_time'
  if (DECIMAL.test(text)) return epochTime(Number(text))
  const atMs = parseIso(text)
  if (atMs === undefined) return 'invalid_time'
  return isUtc || hasZone(text) ? atMs : 'time_without_zone'
}

function epochTime(value: number): number | string {
  if (value >= 1e8 && value < 1e10) return Math.round(value * 1000)
  if (value >= 1e11 && value < 1e13) return Math.round(value)
  return 'ambiguous_time'
}
