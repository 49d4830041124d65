import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LatencySummary, recordMs, summarise } from '#scripts/rig/latency.ts'

const AGAIN_MS = 50

/**
 * Does something at an even pace, one after the other. Each counts from when it was due to when it succeeded; it is
 * tried again until then. What is not there at the end counts as long as it has waited.
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
    await untilDone(act, signal)
    recordMs(latency, Math.min(performance.now(), endMs) - dueMs)
  }
  return summarise(latency)
}

async function untilDone(act: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await act(signal)
    } catch {
      // refused or cut off: whoever needs it tries again
      await sleep(AGAIN_MS)
    }
  }
}
