import type { IntentWatch } from '#hub/intent-watch.ts'
import type { PushTimes } from '#hub/push-times.ts'
import type { Continuity } from '#hub/sites/continuity.ts'
import type { Sites } from '#hub/sites/sites.ts'
import type { Database } from '#hub/store/database/database.ts'
import type { SiteBudgets } from '#hub/sync/site-budgets.ts'
import type { Log } from '#shared/log.ts'
import type { Clock, MonotonicClock } from '#shared/time.ts'
import type { Setting } from '#shared/wire/settings.ts'

/** Dependencies of the API for users and their programs. */
export interface PeopleApiDeps {
  database: Database
  sites: Sites
  budgets: SiteBudgets
  continuity: Continuity
  intentWatch: IntentWatch
  pushTimes: PushTimes
  clock: Clock
  monotonicClock: MonotonicClock
  /** Rate limit of each user; 0 means no limit. */
  requestsPerSecond: number
  /** Days that data erased by a site stays archived; 0 keeps none. */
  erasedKeepDays: number
  log: Log
  /** Called when a request was admitted with the key of this hash. */
  onKeyUsed: (keyHash: string) => void
  /** Called when a new intent waits for the gateway of this site. */
  onIntent: (siteId: string) => void
  /** Settings listed in `/docs`. */
  settings: readonly Setting[]
}
