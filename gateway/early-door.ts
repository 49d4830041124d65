import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { OnUpgrade } from '#store/upgrade/upgrade.ts'
import type { Opening } from './opening.ts'

interface EarlyDoorDeps {
  /** HTTP. */
  door: Part
  opening: Opening
  store: Part & {
    start(onUpgrade: OnUpgrade): Promise<void>
    noteOpened(): Promise<void>
  }
  log: Log
  onProgress: OnUpgrade | undefined
}

/** Opens HTTP in its turn, or as soon as the database has to be upgraded, so that people see what goes on. */
export class EarlyDoor implements Part {
  /** The store, in whose start that is found out. */
  readonly withStore: Part
  readonly #deps: EarlyDoorDeps
  #opened: Promise<void> | undefined

  constructor(deps: EarlyDoorDeps) {
    this.#deps = deps
    const { opening, store, log, onProgress } = deps
    this.withStore = {
      start: async () => {
        await store.start(async (progress) => {
          opening.tell(progress)
          log.info(progress, 'upgrading the database')
          // a port that cannot be had is known before anything is changed
          await this.#open()
          await onProgress?.(progress)
        })
        opening.tell(null)
      },
      stop: async () => {
        // of a start that failed before the turn of HTTP
        await this.stop()
        await store.stop()
      },
    }
  }

  async start(): Promise<void> {
    await this.#deps.store.noteOpened()
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
