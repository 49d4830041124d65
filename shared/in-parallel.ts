/**
 * Processes items, at most `inFlight` at a time; results are in their order. Starts no further item after a failure.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  inFlight: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const left = items.entries()
  let hasFailed = false
  async function workOn(): Promise<void> {
    for (const [i, item] of left) {
      try {
        results[i] = await work(item)
      } catch (error) {
        hasFailed = true
        throw error
      }
      if (hasFailed) return
    }
  }
  await Promise.all(Array.from({ length: Math.min(inFlight, items.length) }, workOn))
  return results
}
