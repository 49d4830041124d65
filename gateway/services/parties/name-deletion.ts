import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '#shared/log.ts'
import { dateAfter } from '#shared/site/time-zone.ts'
import { type Clock, toIso } from '#shared/time.ts'
import type { Party } from '#shared/wire/parties/parties.ts'
import type { Store } from '#store/store.ts'
import type { Erasures } from '../retention/erasures.ts'
import type { Site } from '../site.ts'

interface NameDeletionDeps {
  store: Pick<Store, 'read' | 'write' | 'truncateLog'>
  site: Pick<Site, 'settings' | 'timeZone'>
  erasures: Pick<Erasures, 'blankCallTexts'>
  clock: Clock
  log: Log
}

/** Minute of the local day at which names are deleted. */
const NAMES_MINUTE = 4 * 60
/** Attempts to truncate the write-ahead log, in which deleted names may remain. */
const TRUNCATIONS = 50
const TRUNCATION_PAUSE_MS = 100

/** Deletion of the names of golfers and the texts of their calls, once for each local day. */
export class NameDeletion {
  readonly #deps: NameDeletionDeps
  /** Last local day for which names were deleted. */
  #doneDay: string | null = null

  constructor(deps: NameDeletionDeps) {
    this.#deps = deps
  }

  load(): void {
    this.#doneDay = this.#deps.store.read.namesDeletedOn()
  }

  isDue(nowMs: number): boolean {
    return this.#dueDay(nowMs) !== null
  }

  /** Deletes the names that are due, some parties at a time; `changed` is called after each write. */
  async run(changed: (parties: readonly Party[]) => void, goesOn: () => boolean): Promise<void> {
    const { store, erasures, clock, site, log } = this.#deps
    const today = this.#dueDay(clock.nowMs())
    if (today === null) return
    // in the night after a round its day is yesterday, and the parties of today keep their names
    const until = dateAfter(today, -Math.max(1, site.settings.namesKeptDays))
    await erasures.blankCallTexts(site.timeZone.day(until).untilMs)
    let parties = 0
    while (this.#doneDay !== today) {
      const input = { until, today, now: toIso(clock.nowMs()) }
      const step: Party[] = await store.write('deletePartyNames', input, (saved) => {
        if (saved.length > 0) changed(saved)
        else this.#doneDay = today
      })
      parties += step.length
    }
    if (parties === 0) return
    for (let tried = 0; goesOn() && tried < TRUNCATIONS && !(await store.truncateLog()); tried++)
      await wait(TRUNCATION_PAUSE_MS)
    log.info({ parties }, 'deleted the names of golfers')
  }

  /** Returns the local day whose deletion is due; null for none. */
  #dueDay(nowMs: number): string | null {
    const { timeZone } = this.#deps.site
    const { date } = timeZone.local(nowMs)
    const day = nowMs >= timeZone.instantOf(date, NAMES_MINUTE) ? date : dateAfter(date, -1)
    return this.#doneDay !== null && day <= this.#doneDay ? null : day
  }
}
