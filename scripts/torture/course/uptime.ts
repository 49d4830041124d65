/** When a gateway was there, of all the time in which it was killed again and again. */
export class Uptime {
  readonly #lives: { fromMs: number; toMs: number }[] = []

  /** It listens, and has its devices. */
  begin(nowMs: number): void {
    this.#lives.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY })
  }

  /** It is gone; for a life that did not get that far, too. */
  end(nowMs: number): void {
    const last = this.#lives.at(-1)
    if (last !== undefined) last.toMs = Math.min(last.toMs, nowMs)
  }

  /** Milliseconds between two times in which it was there. */
  upMs(fromMs: number, toMs: number): number {
    return this.#lives.reduce(
      (sum, life) => sum + Math.max(0, Math.min(life.toMs, toMs) - Math.max(life.fromMs, fromMs)),
      0,
    )
  }
}
