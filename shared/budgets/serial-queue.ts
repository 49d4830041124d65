/** Runs jobs one after another, in the order of their arrival. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` after all earlier jobs, regardless of how they ended. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Resolves when all jobs so far have ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
