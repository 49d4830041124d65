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

/** What the last check found. */
export interface CheckResult {
  atMs: number
  /** Tables with something wrong, by name; `file` for pages that are in none of them. */
  damaged: readonly string[]
}

/** After the start: connections and the first messages come first. */
const FIRST_MS = 10_000
/** On the gateway's own clock: when a course sleeps. */
const NIGHT_HOUR = 3
/** A megabyte is read in some milliseconds, then others have their turn. */
const SCAN_PAGES = 256
const SCAN_PAUSE_MS = 20
const SHOWN_PAGES = 10
const OWNER = 'check'

/**
 * Reads what nobody asks for, so that damage is found before it is needed: all tables but telemetry soon after the
 * start, and every night those and every page of the file. What it finds is in `store.damage`.
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

  /** Undefined until one was done. */
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

  /**
   * One check; `isWhole` with every page of the file. Never rejects: what could not be checked is checked next time.
   */
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
        log.warn({ reason: describeError(error) }, 'could not check the database; tries again at night')
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
        `The table ${table} is damaged (${first}). What needs the damaged part is refused. Stop the gateway and run ${typedCommand('repair')}.`,
      )
    }
    return damaged
  }

  async #isFileWhole(): Promise<boolean> {
    const suspects = await this.#suspects()
    // then the file has what the log had anew; where that is not possible now, the next night says it
    if (suspects.length === 0 || !(await this.#deps.store.truncateLog())) return true
    const wrong: number[] = []
    for (const page of suspects) wrong.push(...((await this.#scan(page, 1))?.wrong ?? []))
    if (wrong.length === 0) return true
    const shown = wrong.slice(0, SHOWN_PAGES).join(', ')
    this.#report(
      'file',
      `Of the pages of the database ${wrong.length} are not as they were written (${shown}): in tables that are named, in the telemetry or in free space. What is damaged of the telemetry is set aside when it is read. Look after the disk; ${typedCommand('repair')} makes a new database of all that can be read.`,
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
