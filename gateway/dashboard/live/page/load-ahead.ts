/** So long after the page is there: what is looked at first comes first, and contact may be lost soon after. */
const AFTER_MS = 3_000
const BETWEEN_MS = 100

type Load = () => Promise<unknown>

/**
 * Loads the code of screens one after the other before anybody opens them: after an upgrade of the gateway the files of
 * this page are not there any more. What does not come now may come when it is opened. Ends with what it returns.
 */
export function loadAhead(
  first: readonly Load[],
  others: () => Promise<readonly Load[]>,
  setTimer: (action: () => void, ms: number) => unknown = (action, ms) => setTimeout(action, ms),
): () => void {
  let isOver = false
  const wait = (ms: number) => new Promise<void>((resolve) => setTimer(resolve, ms))
  const loadAll = async (loads: readonly Load[]) => {
    for (const load of loads) {
      if (isOver) return
      await load().catch(() => undefined)
      await wait(BETWEEN_MS)
    }
  }
  const run = async () => {
    await wait(AFTER_MS)
    await loadAll(first)
    if (!isOver) await loadAll(await others().catch(() => []))
  }
  void run()
  return () => {
    isOver = true
  }
}
