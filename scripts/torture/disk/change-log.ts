/** Changes in the order in which they were made, and the number of them that a sync has made safe. */
export class ChangeLog<Change> {
  readonly all: Change[] = []
  #synced = 0

  add(change: Change): void {
    this.all.push(change)
  }

  /** Marks the first `changes` of all changes as safe: a sync that began earlier may end later. */
  sync(changes: number): void {
    this.#synced = Math.max(this.#synced, changes)
  }

  get synced(): readonly Change[] {
    return this.all.slice(0, this.#synced)
  }

  get unsynced(): readonly Change[] {
    return this.all.slice(this.#synced)
  }
}
