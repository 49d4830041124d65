/** Periods in which a gateway was running, while it is killed repeatedly. */
export class Uptime {
  readonly #lives: { fromMs: number; toMs: number }[] = []

  /** Begins a period: the gateway listens, and has its devices. */
  begin(nowMs: number): void {
    this.#lives.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY })
  }

  /** Ends the period; has no effect for a life that did not begin one. */
  end(nowMs: number): void {
    const last = this.#lives.at(-1)
    if (last !== undefined) last.toMs = Math.min(last.toMs, nowMs)
  }

  /** Milliseconds of uptime between two times. */
  upMs(fromMs: number, toMs: number): number {
    return this.#lives.reduce(
      (sum, life) => sum + Math.max(0, Math.min(life.toMs, toMs) - Math.max(life.fromMs, fromMs)),
      0,
    )
  }
}
