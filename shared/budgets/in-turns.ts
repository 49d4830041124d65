/** Time that other work waits for one slice, in ms. */
const SLICE_MS = 8

/** Does work in slices of a few ms, one per tick, with device messages in between; `work` yields where it may pause. */
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

/** Does the work without a pause. */
export function atOnce<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
