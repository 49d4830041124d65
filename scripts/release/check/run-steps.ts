/** Test step that runs on `M`. */
type Step<M> = (machine: M) => Promise<void> | void

/** Runs all steps in sequence, also after a failure, and prints the result of each. Returns the number of failures. */
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
