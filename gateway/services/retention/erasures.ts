import { setTimeout as wait } from 'node:timers/promises'
import type { Events } from '#gateway/events.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { ErasedSubject, ErasurePosition, ErasureResult, ErasureStep } from '#store/tables/erasure.ts'
import type { WriteInput } from '#store/writer/writes.ts'

interface ErasuresDeps {
  store: Pick<Store, 'write' | 'truncateLog'>
  events: Events
  clock: Clock
  log: Log
}

/** Attempts to truncate the log of the database: readers of a long history hold it. */
const TRUNCATIONS = 50
const TRUNCATION_PAUSE_MS = 100

/**
 * Erases the stored data of a user or a code, in short transactions between those of the devices' messages. An erasure
 * interrupted by a stop or a store fault is completed by the next request.
 */
export class Erasures {
  readonly #deps: ErasuresDeps
  readonly #turns = new SerialQueue()

  constructor(deps: ErasuresDeps) {
    this.#deps = deps
  }

  /** Resolves when all data of the subject is erased. Throws `store_unavailable`. */
  erase(subject: ErasedSubject): Promise<ErasureResult> {
    const { store, events, clock, log } = this.#deps
    return this.#turns.take(async () => {
      const erased: ErasureResult = { lockEvents: 0, commands: 0, metadata: 0, other: 0 }
      let after: ErasurePosition | null = null
      do {
        const input: WriteInput<'eraseStep'> = { subject, after, nowMs: clock.nowMs() }
        const step: ErasureStep = await store.write('eraseStep', input, ({ lockEvents, otherTable }) => {
          if (lockEvents > 0) events.emit('erased', { table: 'lock_event' })
          if (otherTable !== null) events.emit('erased', { table: otherTable })
        })
        erased.lockEvents += step.lockEvents
        erased.commands += step.commands
        erased.metadata += step.metadata
        erased.other += step.other
        after = step.after
      } while (after !== null)
      await this.#emptyLog()
      log.info({ ...erased }, 'erased the data of a user or a code')
      return erased
    })
  }

  /** Blanks the texts of calls made before `beforeMs`. Throws `store_unavailable`. */
  blankCallTexts(beforeMs: number): Promise<void> {
    const { store, events, log } = this.#deps
    return this.#turns.take(async () => {
      let blanked = 0
      for (let some = -1; some !== 0; blanked += some) some = await store.write('blankCallTextsStep', { beforeMs })
      if (blanked === 0) return
      events.emit('erased', { table: 'alert' })
      await this.#emptyLog()
      log.info({ calls: blanked }, 'blanked the texts of old calls')
    })
  }

  async #emptyLog(): Promise<void> {
    const { store, log } = this.#deps
    for (let tried = 0; tried < TRUNCATIONS; tried++) {
      if (await store.truncateLog()) return
      await wait(TRUNCATION_PAUSE_MS)
    }
    log.warn({}, 'the write-ahead log may still hold erased data; send POST /erasures again to truncate it')
  }
}
