import { setTimeout as pause } from 'node:timers/promises'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, HOUR_MS } from '#shared/time.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { Store } from '#store/store.ts'

interface DatabaseCheckDeps {
  store: Pick<Store, 'readers' | 'damage' | 'truncateLog'>
  clock: Clock
  log: Log
}

export interface CheckResult {
  atMs: number
  /** Names of damaged tables; `file` for pages outside all of them. */
  damaged: readonly string[]
}

/** Delay after the start, because connections and the first messages have priority. */
const FIRST_MS = 10_000
/** Hour by the gateway's own clock, when a course is idle. */
const NIGHT_HOUR = 3
/** Pages per slice: a megabyte takes some milliseconds, then other work runs. */
const SCAN_PAGES = 256
const SCAN_PAUSE_MS = 20
const SHOWN_PAGES = 10
const OWNER = 'check'

/**
 * Reads data that no client requests, so that damage is found before the data is needed: all tables except telemetry
 * soon after the start, and every night those and every page of the file. The findings are in `store.damage`.
 */
export class DatabaseCheck implements Component {
  readonly #deps: DatabaseCheckDeps
  #last: CheckResult | undefined
  #first: NodeJS.Timeout | undefined
  #hourly: NodeJS.Timeout | undefined
  #isRunning = false
  #stopping = new AbortController()

  constructor(deps: DatabaseCheckDeps) {
    this.#deps = deps
  }

  /** Undefined until a check has ended. */
  get last(): CheckResult | undefined {
    return this.#last
  }

  async start(): Promise<void> {
    this.#stopping = new AbortController()
    this.#first = setTimeout(() => void this.run(false), FIRST_MS)
    this.#hourly = setInterval(() => {
      const hour = new Date(this.#deps.clock.nowMs()).getHours()
      if (hour === NIGHT_HOUR) void this.run(true)
    }, HOUR_MS)
  }

  async stop(): Promise<void> {
    clearTimeout(this.#first)
    clearInterval(this.#hourly)
    this.#stopping.abort()
  }

  /** Runs a check, with `isWhole` of every page of the file. Never rejects: the next one repeats unreadable parts. */
  async run(isWhole: boolean): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    const { clock, log } = this.#deps
    try {
      const damaged = await this.#checkTables()
      if (isWhole && !(await this.#isFileWhole())) damaged.push('file')
      this.#last = { atMs: clock.nowMs(), damaged }
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        log.warn({ reason: describeError(error) }, 'database check failed; will retry at night')
    } finally {
      this.#isRunning = false
    }
  }

  async #checkTables(): Promise<string[]> {
    const { store } = this.#deps
    const damaged: string[] = []
    for (const table of await store.readers.run('listCheckedTables', null, this.#options)) {
      const problem = await store.readers.run('checkTable', table, this.#options)
      if (problem === null) continue
      damaged.push(table)
      const [first] = problem.split('\n').filter((line) => !line.startsWith('***'))
      this.#report(
        table,
        `The table ${table} is damaged (${first}). Requests that need the damaged part fail. Stop the gateway and ` +
          `run ${typedCommand('repair')}.`,
      )
    }
    return damaged
  }

  async #isFileWhole(): Promise<boolean> {
    const suspects = await this.#suspects()
    // truncating the log writes its pages to the file; if that is not possible now, the next night checks again
    if (suspects.length === 0 || !(await this.#deps.store.truncateLog())) return true
    const wrong: number[] = []
    for (const page of suspects) wrong.push(...((await this.#scan(page, 1))?.wrong ?? []))
    if (wrong.length === 0) return true
    const shown = wrong.slice(0, SHOWN_PAGES).join(', ')
    this.#report(
      'file',
      `${wrong.length} pages of the database are damaged (${shown}): in the named tables, in telemetry or in free ` +
        'space. Damaged telemetry is quarantined when it is read. Check the disk; ' +
        `${typedCommand('repair')} builds a new database from everything readable.`,
    )
    return false
  }

  async #suspects(): Promise<number[]> {
    const suspects: number[] = []
    for (let first = 1; ; first += SCAN_PAGES) {
      const scanned = await this.#scan(first, SCAN_PAGES)
      if (scanned === null) return []
      suspects.push(...scanned.wrong)
      if (scanned.isDone) return suspects
      await pause(SCAN_PAUSE_MS, undefined, { signal: this.#stopping.signal })
    }
  }

  #scan(first: number, count: number) {
    return this.#deps.store.readers.run('scanPages', { first, count }, this.#options)
  }

  #report(place: string, detail: string): void {
    const { store, clock } = this.#deps
    store.damage.report({ place, outcome: 'unreadable', detail, foundAtMs: clock.nowMs() })
  }

  get #options() {
    return { owner: OWNER, signal: this.#stopping.signal, isPartOfLongRead: true }
  }
}
