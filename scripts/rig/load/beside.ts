import { formatMs, median } from '../report.ts'
import type { LoadResult } from './plan.ts'

/** The same load alone, and beside something that may disturb it. */
export interface LoadPair {
  alone: LoadResult
  beside: LoadResult
}

/** Heads the columns of `pubackCells`. */
export const PUBACK_COLUMNS = ['p50 alone', 'beside', 'p99 alone', 'beside'] as const

/**
 * PUBACK of pairs, in milliseconds since the write: the medians of p50 alone and beside, and of p99 alone and beside.
 */
export function pubackCells(pairs: readonly LoadPair[]): [string, string, string, string] {
  const of = (side: keyof LoadPair, percentile: 'p50Ms' | 'p99Ms') =>
    formatMs(median(pairs.map((pair) => pair[side].measured.sinceWrite[percentile])))
  return [of('alone', 'p50Ms'), of('beside', 'p50Ms'), of('alone', 'p99Ms'), of('beside', 'p99Ms')]
}

/** PUBACK p99 beside : alone, of the medians of all pairs, and the two as text. */
export function compareP99(pairs: readonly LoadPair[]): { ratio: number; detail: string } {
  const p99Ms = (side: keyof LoadPair) => median(pairs.map((pair) => pair[side].measured.sinceWrite.p99Ms))
  const [alone, beside] = [p99Ms('alone'), p99Ms('beside')]
  return { ratio: beside / alone, detail: `${formatMs(beside)} : ${formatMs(alone)} ms` }
}

/** Messages that were not acknowledged, or not even sent because a device's buffer was full. */
export function countLost(results: readonly LoadResult[]): number {
  return results.reduce((sum, { sent, acknowledged, skipped }) => sum + sent - acknowledged + skipped, 0)
}
