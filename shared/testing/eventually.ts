/** Timeout, long enough for a busy computer. */
const TIMEOUT_MS = 45_000
/**
 * Number of attempts in consecutive ticks of the event loop; later ones are spaced, which leaves the processor to the
 * awaited work.
 */
const EAGER_TRIES = 20
const LONGEST_REST_MS = 10

// a test may replace the global one
const { setTimeout } = globalThis

/** Polls until the condition is true, for events without a notification. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs
  for (let tries = 1; !(await isTrue()); tries++) {
    if (performance.now() > endsAtMs) throw new Error(`not in time: ${what}`)
    await rest(Math.min(tries - EAGER_TRIES, LONGEST_REST_MS))
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => (ms <= 0 ? setImmediate(resolve) : setTimeout(resolve, ms)))
}
