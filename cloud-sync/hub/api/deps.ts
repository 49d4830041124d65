import type { IntentWatch } from '#hub/intent-watch.ts'
import type { PushTimes } from '#hub/push-times.ts'
import type { Continuity } from '#hub/sites/continuity.ts'
import type { Sites } from '#hub/sites/sites.ts'
import type { Database } from '#hub/store/database/database.ts'
import type { SiteBudgets } from '#hub/sync/site-budgets.ts'
import type { Log } from '#shared/log.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import type { Setting } from '#shared/wire/settings.ts'

/** The parts of the hub that answer people and their programs. */
export interface PeopleApiDeps {
  database: Database
  sites: Sites
  budgets: SiteBudgets
  continuity: Continuity
  intentWatch: IntentWatch
  pushTimes: PushTimes
  clock: Clock
  monotonicClock: MonotonicClock
  /** Of each user; 0 is no limit. */
  requestsPerSecond: number
  /** How long what a site erases is kept aside; 0 keeps nothing. */
  erasedKeepDays: number
  log: Log
  /** A request was admitted with the key of this hash. */
  onKeyUsed: (keyHash: string) => void
  /** A new intent waits for the gateway of this site. */
  onIntent: (siteId: string) => void
  /** The settings that `/docs` lists. */
  settings: readonly Setting[]
}
