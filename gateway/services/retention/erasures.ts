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

/** How often the log of the database is tried to be emptied: readers of a long history hold it. */
const TRUNCATIONS = 50
const TRUNCATION_PAUSE_MS = 100

/**
 * Blanks what is kept of a person or a code, in short transactions between those of the devices' messages. One that a
 * stop or a fault of the store ended is finished by asking again.
 */
export class Erasures {
  readonly #deps: ErasuresDeps
  readonly #turns = new SerialQueue()

  constructor(deps: ErasuresDeps) {
    this.#deps = deps
  }

  /** Resolves when nothing of it is left. Throws `store_unavailable`. */
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
      log.info({ ...erased }, 'erased a person or a code')
      return erased
    })
  }

  async #emptyLog(): Promise<void> {
    const { store, log } = this.#deps
    for (let tried = 0; tried < TRUNCATIONS; tried++) {
      if (await store.truncateLog()) return
      await wait(TRUNCATION_PAUSE_MS)
    }
    log.warn({}, 'the write-ahead log may still hold what was erased: send POST /erasures again to empty it')
  }
}
