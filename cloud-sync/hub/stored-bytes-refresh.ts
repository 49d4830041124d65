import type { Database } from '#hub/store/database/database.ts'
import { countStoredBytes, type StoredBytes, storedBytesOfAll } from '#hub/store/stored-bytes.ts'
import type { SiteBudgets } from '#hub/sync/site-budgets.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { inGb } from '#shared/units.ts'
import { RepeatedTask } from './repeated-task.ts'

const LOOK_EVERY_MS = MINUTE_MS
/** What is added up as it comes is too much in time: compaction, newer versions and deletion make it less. */
const COUNT_EVERY_MS = 6 * HOUR_MS
/** A full site is counted more often: an admin may have made room. */
const COUNT_FULL_EVERY_MS = 5 * MINUTE_MS
/** Counted also when so much of what is allowed has come since the last time. */
const COUNT_SHARE = 0.05

/** Counts now and then what is kept of each site. */
export function createStorageCount(
  database: Database,
  clock: Clock,
  log: Log,
  budgets: Pick<SiteBudgets, 'isFull' | 'maxBytes'>,
): RepeatedTask {
  const full = new Set<string>()
  const isDue = ({ bytes, countedBytes, countedAtMs }: StoredBytes): boolean => {
    const nowMs = clock.nowMs()
    const everyMs = budgets.isFull(bytes) ? COUNT_FULL_EVERY_MS : COUNT_EVERY_MS
    // also when the clock was set back
    if (countedAtMs < nowMs - everyMs || countedAtMs > nowMs + everyMs) return true
    return budgets.maxBytes > 0 && bytes - countedBytes >= budgets.maxBytes * COUNT_SHARE
  }
  const tell = (siteId: string, bytes: number): void => {
    const isFull = budgets.isFull(bytes)
    if (isFull === full.has(siteId)) return
    const fields = { site: siteId, keeps: inGb(bytes), atMost: inGb(budgets.maxBytes) }
    if (isFull) {
      full.add(siteId)
      log.warn(fields, 'a site is full: taking no more positions and events of it; see CARTBARN_HUB_SITE_MAX_GB')
    } else {
      full.delete(siteId)
      log.info(fields, 'there is room for a site again')
    }
  }
  return new RepeatedTask({
    everyMs: LOOK_EVERY_MS,
    task: async (isStopping) => {
      for (const site of await storedBytesOfAll(database)) {
        if (isStopping()) return
        const counted = isDue(site) ? await countStoredBytes(database, site.siteId, clock.nowMs()) : undefined
        tell(site.siteId, counted ?? site.bytes)
      }
    },
    failure: 'cannot count what is kept of sites; retrying later',
    log,
  })
}
