import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LatencySummary, recordMs, summarise } from '#scripts/rig/latency.ts'

const AGAIN_MS = 50

/**
 * Repeats an action at an even rate, one after the other. Each counts from its due time to its success; it is retried
 * until then. An action that has not succeeded at the end counts as long as it has waited.
 */
export async function probe(
  durationS: number,
  gapMs: number,
  act: (signal: AbortSignal) => Promise<void>,
): Promise<LatencySummary> {
  const latency = createHistogram()
  const startMs = performance.now()
  const endMs = startMs + durationS * 1000
  const signal = AbortSignal.timeout(durationS * 1000)
  for (let dueMs = startMs; dueMs < endMs; dueMs += gapMs) {
    await sleep(Math.max(0, dueMs - performance.now()))
    while (!signal.aborted && !(await isDone(act, signal))) await sleep(AGAIN_MS)
    recordMs(latency, Math.min(performance.now(), endMs) - dueMs)
  }
  return summarise(latency)
}

/** False if it was refused or cut off: a real client would retry. */
function isDone(act: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> {
  return act(signal).then(
    () => true,
    () => false,
  )
}
