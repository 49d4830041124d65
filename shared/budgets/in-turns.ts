/** Others wait for so long, in milliseconds. */
const SLICE_MS = 8

/**
 * Does long work a few milliseconds in each turn of the event loop, so that devices come in between. The work says by
 * `yield` where it may pause.
 */
export async function inTurns<Result>(work: Generator<void, Result>): Promise<Result> {
  for (;;) {
    await new Promise(setImmediate)
    const endsAtMs = performance.now() + SLICE_MS
    do {
      const step = work.next()
      if (step.done) return step.value
    } while (performance.now() < endsAtMs)
  }
}

/** Does the same without a pause. */
export function atOnce<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
