/** Delay after the page has loaded: the first screen has priority, but the connection may be lost soon. */
const AFTER_MS = 3_000
const BETWEEN_MS = 100

type Load = () => Promise<unknown>

/**
 * Loads the code of screens one after the other before they are opened: after an upgrade of the gateway the files of
 * this page no longer exist. Code that fails to load now may load when its screen is opened. The returned function ends
 * it.
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
