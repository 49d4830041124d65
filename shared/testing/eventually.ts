/** For what never comes: long enough for a machine that has much else to do. */
const TIMEOUT_MS = 45_000
/** Asked in every turn of the event loop at first; then with rests, which leave the processor to what is waited for. */
const EAGER_TRIES = 20
const LONGEST_REST_MS = 10

// a test may put its own in the place of the global one
const { setTimeout } = globalThis

/** Asks again and again until the answer is yes: for what nobody announces. */
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
