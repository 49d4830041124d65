import type { Database } from '#hub/store/database/database.ts'
import { countStoredBytes, type StoredBytes, storedBytesOfAll } from '#hub/store/stored-bytes.ts'
import type { SiteBudgets } from '#hub/sync/site-budgets.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { inGb } from '#shared/units.ts'
import { RepeatedTask } from './repeated-task.ts'

const CHECK_EVERY_MS = MINUTE_MS
/** The running sum of arriving bytes grows too large: compaction, newer versions and deletion free space. */
const COUNT_EVERY_MS = 6 * HOUR_MS
/** A full site is counted more often: an admin may have made room. */
const COUNT_FULL_EVERY_MS = 5 * MINUTE_MS
/** Share of the limit: a site is also counted after receiving this much since the last count. */
const COUNT_SHARE = 0.05

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
  const report = (siteId: string, bytes: number): void => {
    const isFull = budgets.isFull(bytes)
    if (isFull === full.has(siteId)) return
    const fields = { site: siteId, keeps: inGb(bytes), atMost: inGb(budgets.maxBytes) }
    if (isFull) {
      full.add(siteId)
      log.warn(fields, 'site full: its positions and events are refused; see CARTBARN_HUB_SITE_MAX_GB')
    } else {
      full.delete(siteId)
      log.info(fields, 'site has room again')
    }
  }
  return new RepeatedTask({
    everyMs: CHECK_EVERY_MS,
    task: async (isStopping) => {
      for (const site of await storedBytesOfAll(database)) {
        if (isStopping()) return
        const counted = isDue(site) ? await countStoredBytes(database, site.siteId, clock.nowMs()) : undefined
        report(site.siteId, counted ?? site.bytes)
      }
    },
    failure: 'counting the stored bytes of sites failed; will retry',
    log,
  })
}
