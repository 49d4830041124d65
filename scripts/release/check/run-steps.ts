/** Something that is tried on `M`. */
type Step<M> = (machine: M) => Promise<void> | void

/** Tries one after the other, also after a failure, and prints what came of each. Returns how many failed. */
export async function runSteps<M>(
  title: string,
  machine: M,
  steps: Readonly<Record<string, Step<M>>>,
): Promise<number> {
  console.log(title)
  let failures = 0
  for (const [name, step] of Object.entries(steps)) {
    const startedAtMs = performance.now()
    try {
      await step(machine)
      console.log(`  ok    ${name} (${((performance.now() - startedAtMs) / 1000).toFixed(0)} s)`)
    } catch (error) {
      failures++
      console.log(`  FAIL  ${name}\n${error instanceof Error ? error.message : error}`)
    }
  }
  return failures
}
