import { type Caller, canSee } from '#domain/access.ts'

/** A connection that can watch devices. */
export interface Watcher {
  caller: Caller
  /** The devices it named; `watchesAll` beside them. */
  readonly watched: Set<string>
  watchesAll: boolean
}

/** Who watches which device. `watchesAll` is everything in scope, now and later. */
export class Subscriptions<W extends Watcher> {
  readonly #byDevice = new Map<string, Set<W>>()
  readonly #all = new Set<W>()

  add(watcher: W, hardwareId: string): void {
    watcher.watched.add(hardwareId)
    const watchers = this.#byDevice.get(hardwareId) ?? new Set()
    this.#byDevice.set(hardwareId, watchers.add(watcher))
  }

  remove(watcher: W, hardwareId: string): void {
    watcher.watched.delete(hardwareId)
    const watchers = this.#byDevice.get(hardwareId)
    watchers?.delete(watcher)
    if (watchers?.size === 0) this.#byDevice.delete(hardwareId)
  }

  addAll(watcher: W): void {
    watcher.watchesAll = true
    this.#all.add(watcher)
  }

  /** Ends everything the watcher watches. */
  clear(watcher: W): void {
    for (const hardwareId of [...watcher.watched]) this.remove(watcher, hardwareId)
    watcher.watchesAll = false
    this.#all.delete(watcher)
  }

  /** Takes away what the watcher may no longer see; returns those devices. */
  narrow(watcher: W): string[] {
    const lost = [...watcher.watched].filter((hardwareId) => !canSee(watcher.caller, hardwareId))
    for (const hardwareId of lost) this.remove(watcher, hardwareId)
    return lost
  }

  forget(hardwareId: string): void {
    for (const watcher of this.#byDevice.get(hardwareId) ?? []) watcher.watched.delete(hardwareId)
    this.#byDevice.delete(hardwareId)
  }

  /** Calls `visit` once for each watcher of the device. */
  forEachWatcher(hardwareId: string, visit: (watcher: W) => void): void {
    for (const watcher of this.#byDevice.get(hardwareId) ?? []) visit(watcher)
    for (const watcher of this.#all) {
      if (!watcher.watched.has(hardwareId) && canSee(watcher.caller, hardwareId)) visit(watcher)
    }
  }

  isWatched(hardwareId: string): boolean {
    return this.#byDevice.has(hardwareId) || this.#all.size > 0
  }
}
