import { type CursorTotal, cursorTotals, serverOf } from '#hub/store/cursors.ts'
import type { Sql } from '#hub/store/database/database.ts'
import type { Log } from '#shared/log.ts'
import type { MonotonicClock } from '#shared/time.ts'

interface ContinuityDeps {
  readonly database: Sql
  readonly monotonicClock: MonotonicClock
  readonly log: Log
}

/** Time from which reports of gateways are trusted, and the reason why not from an earlier one. */
export interface Trust {
  readonly sinceMonotonicMs: number
  readonly because: 'started' | 'database'
}

/** Maximum number of remembered servers of one database; each of its restarts adds one. */
const MAX_SERVERS = 1000

/**
 * Tracks since when the database is the one for which gateways got their acknowledgements. A report in it that all data
 * has arrived proves nothing if the database went back to an earlier state: a standby that lagged became the primary,
 * or a backup was restored while the hub ran. Either of two signs is enough: a cursor of a gateway is lower than this
 * hub has moved or seen it, or another server responds than before, or the same one after a restart.
 */
export class Continuity {
  readonly #deps: ContinuityDeps
  readonly #servers = new Set<string>()
  /** Keyed by site and epoch. */
  readonly #highest = new Map<string, Pick<CursorTotal, 'siteId' | 'total'>>()
  #trust: Trust

  constructor(deps: ContinuityDeps) {
    this.#deps = deps
    this.#trust = { sinceMonotonicMs: deps.monotonicClock.monotonicMs(), because: 'started' }
  }

  /** Throws if the database does not respond: its state at the start must be known. */
  async start(): Promise<void> {
    this.#servers.clear()
    this.#servers.add(await serverOf(this.#deps.database))
    await this.#check(null)
    this.#trust = { sinceMonotonicMs: this.#deps.monotonicClock.monotonicMs(), because: 'started' }
  }

  /** Records that the cursors of an epoch have moved, in a transaction that is committed. */
  moved({ siteId, epoch, total }: Omit<CursorTotal, 'server'>): void {
    const key = keyOf(siteId, epoch)
    if ((this.#highest.get(key)?.total ?? 0) < total) this.#highest.set(key, { siteId, total })
  }

  /** Call it after reading the rows to evaluate; null means all sites. Throws if the database does not respond. */
  async trust(siteIds: readonly string[] | null = null): Promise<Trust> {
    if (await this.#check(siteIds)) {
      this.#deps.log.warn(
        'the database is on another server than before, or went back to an earlier state: no site is ok before ' +
          'its gateway has reported',
      )
      this.#trust = { sinceMonotonicMs: this.#deps.monotonicClock.monotonicMs(), because: 'database' }
    }
    return this.#trust
  }

  /** True if the database has gone back or its server has changed. */
  async #check(siteIds: readonly string[] | null): Promise<boolean> {
    // the result may not include moves made while the statement runs
    const before = [...this.#highest].filter(([, { siteId }]) => siteIds?.includes(siteId) !== false)
    const rows = await cursorTotals(this.#deps.database, siteIds)
    const found = new Map(rows.map((row) => [keyOf(row.siteId, row.epoch), row]))
    const gone = before.filter(([key, { total }]) => (found.get(key)?.total ?? 0) < total)
    for (const [key] of gone) this.#highest.delete(key)
    for (const row of rows) this.moved(row)
    const others = this.#servers.size === 0 ? [] : rows.filter(({ server }) => !this.#servers.has(server))
    if (this.#servers.size > MAX_SERVERS) this.#servers.clear()
    for (const { server } of rows) this.#servers.add(server)
    return others.length > 0 || gone.length > 0
  }
}

function keyOf(siteId: string, epoch: string): string {
  return `${siteId} ${epoch}`
}
