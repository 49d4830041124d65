/** Number of rows waiting for the disk from which maintenance pauses in favour of devices. */
const BUSY_ROWS = 200
/** Longest wait of a step, so that maintenance continues under permanent load. */
const MAX_WAIT_MS = 200
const CHECK_MS = 10

/** Runs background maintenance steps: each waits while many rows do, and is followed by a pause of its own length. */
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

  stop(): void {
    this.#isRunning = false
    this.#wake?.()
  }

  async take<Result>(step: () => Promise<Result>): Promise<Result> {
    for (let waitedMs = 0; waitedMs < MAX_WAIT_MS && this.#waitingRows() > BUSY_ROWS; waitedMs += CHECK_MS) {
      await this.#rest(CHECK_MS)
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
