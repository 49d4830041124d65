const IDLE_MS = 60_000

/** When somebody used this page last. */
export class Touches {
  #lastMs: number | null = null

  start(): void {
    const touched = () => {
      this.#lastMs = performance.now()
    }
    for (const event of ['pointerdown', 'keydown', 'input'])
      addEventListener(event, touched, { capture: true, passive: true })
  }

  /** Nobody has used it since it was opened. */
  get isUntouched(): boolean {
    return this.#lastMs === null
  }

  /** Nobody has used it for a minute. */
  get isIdle(): boolean {
    return this.#lastMs === null || performance.now() - this.#lastMs >= IDLE_MS
  }
}
