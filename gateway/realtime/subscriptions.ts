import { type Caller, canSee } from '#domain/access.ts'

export interface Watcher {
  caller: Caller
  /** Devices that it subscribed to by id, in addition to `watchesAll`. */
  readonly watched: Set<string>
  watchesAll: boolean
}

/** Watchers of each device. `watchesAll` covers every device in scope, now and later. */
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

  clear(watcher: W): void {
    for (const hardwareId of [...watcher.watched]) this.remove(watcher, hardwareId)
    watcher.watchesAll = false
    this.#all.delete(watcher)
  }

  /** Removes subscriptions to devices that the watcher may no longer see; returns those devices. */
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
