/** Work that is done one piece after the other, in the order in which it came. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Does `work` once all that came before it is over, however that ended. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Resolves when all that has come so far is over. */
  async idle(): Promise<void> {
    await this.#last
  }
}
