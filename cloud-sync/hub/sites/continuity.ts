import { type CursorTotal, cursorTotals, serverOf } from '#hub/store/cursors.ts'
import type { Sql } from '#hub/store/database/database.ts'
import type { Log } from '#shared/log.ts'
import type { MonotonicClock } from '#shared/time.ts'

interface ContinuityDeps {
  readonly database: Sql
  readonly monotonicClock: MonotonicClock
  readonly log: Log
}

/** Since when reports of gateways can be believed, and why not longer. */
export interface Trust {
  readonly sinceMonotonicMs: number
  readonly because: 'started' | 'database'
}

/** Servers of one database that are remembered; one is added with each of its restarts. */
const MAX_SERVERS = 1000

/**
 * Since when the database is the one to which gateways were acknowledged their data. A report in it that all data is
 * here proves nothing when the database went back to an earlier state: a standby that was behind became the primary, or
 * a backup was restored while the hub ran. This shows in two ways, of which either is enough: a cursor of a gateway is
 * further back than this hub has moved or seen it, or another server answers than before, or the same after a restart.
 */
export class Continuity {
  readonly #deps: ContinuityDeps
  readonly #servers = new Set<string>()
  /** By site and epoch. */
  readonly #highest = new Map<string, Pick<CursorTotal, 'siteId' | 'total'>>()
  #trust: Trust

  constructor(deps: ContinuityDeps) {
    this.#deps = deps
    this.#trust = { sinceMonotonicMs: deps.monotonicClock.monotonicMs(), because: 'started' }
  }

  /** Throws when the database does not answer: what it was at the start has to be known. */
  async start(): Promise<void> {
    this.#servers.clear()
    this.#servers.add(await serverOf(this.#deps.database))
    await this.#look(null)
    this.#trust = { sinceMonotonicMs: this.#deps.monotonicClock.monotonicMs(), because: 'started' }
  }

  /** The cursors of an epoch have got there, in a transaction that is committed. */
  moved({ siteId, epoch, total }: Omit<CursorTotal, 'server'>): void {
    const key = keyOf(siteId, epoch)
    if ((this.#highest.get(key)?.total ?? 0) < total) this.#highest.set(key, { siteId, total })
  }

  /** To be asked after what it judges was read; of some sites, or of all. Throws when the database does not answer. */
  async trust(siteIds: readonly string[] | null = null): Promise<Trust> {
    if (await this.#look(siteIds)) {
      this.#deps.log.warn(
        'the database is on another server than before, or went back to an earlier state: no site is ok before ' +
          'its gateway has reported',
      )
      this.#trust = { sinceMonotonicMs: this.#deps.monotonicClock.monotonicMs(), because: 'database' }
    }
    return this.#trust
  }

  /** Whether the database is not the one that it was. */
  async #look(siteIds: readonly string[] | null): Promise<boolean> {
    // what moves while the statement runs may not be in its answer
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
