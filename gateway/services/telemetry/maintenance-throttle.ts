/** While this many rows wait for the disk, maintenance pauses in favour of devices. */
const BUSY_ROWS = 200
/** A step waits so long at most, so that the work goes on under a load that never ends. */
const MAX_WAIT_MS = 200
const LOOK_MS = 10

/**
 * Takes steps of work in the background: each is followed by a rest as long as it took, and waits while many rows do.
 */
export class MaintenanceThrottle {
  readonly #waitingRows: () => number
  #isRunning = false
  #wake: (() => void) | undefined

  constructor(waitingRows: () => number) {
    this.#waitingRows = waitingRows
  }

  start(): void {
    this.#isRunning = true
  }

  /** Nothing is waited for any more. */
  stop(): void {
    this.#isRunning = false
    this.#wake?.()
  }

  async take<Result>(step: () => Promise<Result>): Promise<Result> {
    for (let waitedMs = 0; waitedMs < MAX_WAIT_MS && this.#waitingRows() > BUSY_ROWS; waitedMs += LOOK_MS) {
      await this.#rest(LOOK_MS)
    }
    const startedAtMs = performance.now()
    const result = await step()
    await this.#rest(Math.min(performance.now() - startedAtMs, MAX_WAIT_MS))
    return result
  }

  async #rest(ms: number): Promise<void> {
    if (!this.#isRunning) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }
}
