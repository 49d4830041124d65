const TIMEOUT_MS = 8_000

/** Asks again, a turn of the event loop later, until the answer is yes: for what nobody announces. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs
  while (!(await isTrue())) {
    if (performance.now() > endsAtMs) throw new Error(`not in time: ${what}`)
    await new Promise(setImmediate)
  }
}
