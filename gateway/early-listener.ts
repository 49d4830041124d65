import type { Restores } from '#services/restores.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { OnUpgrade } from '#store/upgrade/upgrade.ts'
import type { StartupPage } from './startup-page.ts'

interface EarlyListenerDeps {
  door: Component
  opening: StartupPage
  store: Component & {
    start(onUpgrade: OnUpgrade): Promise<void>
    recordMqttOpened(): Promise<void>
  }
  restores: Pick<Restores, 'isActive' | 'perform'>
  log: Log
  onProgress: OnUpgrade | undefined
}

/**
 * Opens the HTTP listener at its stage of the start, or as soon as a backup is restored or the database needs an
 * upgrade, to show progress.
 */
export class EarlyListener implements Component {
  /** Store, whose start detects a necessary upgrade; a requested restore precedes it. */
  readonly withStore: Component
  readonly #deps: EarlyListenerDeps
  #opened: Promise<void> | undefined

  constructor(deps: EarlyListenerDeps) {
    this.#deps = deps
    const { opening, store, restores, log, onProgress } = deps
    this.withStore = {
      start: async () => {
        if (restores.isActive) {
          // a tablet watches the restore here
          await this.#open()
          await restores.perform()
        }
        await store.start(async (progress) => {
          opening.setProgress(progress)
          log.info(progress, 'upgrading the database')
          // a port that cannot be opened is reported before any change
          await this.#open()
          await onProgress?.(progress)
        })
        opening.setProgress(null)
      },
      stop: async () => {
        // closes the listener after a start that failed before its stage
        await this.stop()
        await store.stop()
      },
    }
  }

  async start(): Promise<void> {
    await this.#deps.store.recordMqttOpened()
    await this.#open()
    this.#deps.opening.done()
  }

  async stop(): Promise<void> {
    await this.#deps.door.stop()
  }

  #open(): Promise<void> {
    this.#opened ??= this.#deps.door.start()
    return this.#opened
  }
}
