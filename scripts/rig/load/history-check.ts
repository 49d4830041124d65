import { inParallel } from '#shared/in-parallel.ts'
import type { Journal } from './plan.ts'

export interface SampleHistory {
  /** Times (milliseconds) of the positions of a device from `fromMs` to `toMs`, both included. */
  gpsTimes(hardwareId: string, fromMs: number, toMs: number): Promise<number[]>
}

/** Result of comparing acknowledged samples with the history. */
export interface HistoryCheck {
  acknowledged: number
  stored: number
  /** Acknowledged, but not in the history. */
  missing: number
  duplicates: number
  /** First few missing ones, to search for in a log. */
  examples: string[]
}

const READS_AT_ONCE = 4
const MAX_EXAMPLES = 10

/** Searches the history for every sample of the journal; others in it are fine: their PUBACK may have been lost. */
export async function checkHistory(history: SampleHistory, journal: Journal): Promise<HistoryCheck> {
  const checks = await inParallel(Object.entries(journal), READS_AT_ONCE, async ([hardwareId, acknowledged]) =>
    compareWithHistory(hardwareId, acknowledged, await readAround(history, hardwareId, acknowledged)),
  )
  const sum = (pick: (check: HistoryCheck) => number) => checks.reduce((total, check) => total + pick(check), 0)
  return {
    acknowledged: sum((check) => check.acknowledged),
    stored: sum((check) => check.stored),
    missing: sum((check) => check.missing),
    duplicates: sum((check) => check.duplicates),
    examples: checks.flatMap((check) => check.examples).slice(0, MAX_EXAMPLES),
  }
}

/** Reads the history from the first to the last acknowledged sample. */
async function readAround(history: SampleHistory, hardwareId: string, times: readonly number[]): Promise<number[]> {
  if (times.length === 0) return []
  // Acknowledged out of order after a reconnect: the ends of the list are not the extremes.
  const first = times.reduce((low, time) => Math.min(low, time))
  const last = times.reduce((high, time) => Math.max(high, time))
  return history.gpsTimes(hardwareId, first, last)
}

/** Compares one device's acknowledged samples with the times its history shows. Never throws. */
export function compareWithHistory(
  hardwareId: string,
  acknowledged: readonly number[],
  times: readonly number[],
): HistoryCheck {
  const stored = new Set(times)
  const missing = acknowledged.filter((time) => !stored.has(time))
  return {
    acknowledged: acknowledged.length,
    stored: times.length,
    missing: missing.length,
    duplicates: times.length - stored.size,
    examples: missing.map((time) => `${hardwareId} ${new Date(time).toISOString()}`),
  }
}
