import { setTimeout as sleep } from 'node:timers/promises'
import { readResidentBytes } from './process-usage.ts'
import { median } from './report.ts'

const SAMPLE_GAP_MS = 50
const WINDOW_MS = 2000
const SHORT_WINDOW_MS = 300
const LIMIT_MS = 60_000
/** Largest variation within a window of memory that counts as settled. */
const QUIET_BYTES = 1_000_000

/** Waits until the resident memory of a process has settled, up to a limit; returns it. */
export async function quietResidentBytes(pid: number, isShort: boolean): Promise<number> {
  const giveUpAtMs = performance.now() + LIMIT_MS
  for (;;) {
    const samples = await sampleFor(pid, isShort ? SHORT_WINDOW_MS : WINDOW_MS)
    const isQuiet = Math.max(...samples) - Math.min(...samples) < QUIET_BYTES
    if (isQuiet || performance.now() > giveUpAtMs) return median(samples)
  }
}

/** Peak resident memory of a process during `work`, and the result of the work. */
export async function peakDuring<Result>(
  pid: number,
  work: () => Promise<Result>,
): Promise<{ peakBytes: number; result: Result }> {
  let peakBytes = readResidentBytes(pid)
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, readResidentBytes(pid))
  }, SAMPLE_GAP_MS)
  try {
    const result = await work()
    return { result, peakBytes: Math.max(peakBytes, readResidentBytes(pid)) }
  } finally {
    clearInterval(sampling)
  }
}

/** Readings of the resident memory of a process during that time. */
export async function sampleFor(pid: number, durationMs: number): Promise<number[]> {
  const samples: number[] = []
  for (let tookMs = 0; tookMs < durationMs; tookMs += SAMPLE_GAP_MS) {
    samples.push(readResidentBytes(pid))
    await sleep(SAMPLE_GAP_MS)
  }
  return samples
}
