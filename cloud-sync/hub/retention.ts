import { deleteAuditEntries, hasOldAuditEntries } from '#hub/store/audit-log.ts'
import type { Database } from '#hub/store/database/database.ts'
import { deleteErased, hasErased } from '#hub/store/erased.ts'
import { inSite, listSites } from '#hub/store/sites.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, DAY_MS, HOUR_MS } from '#shared/time.ts'
import { RepeatedTask } from './repeated-task.ts'

const RUN_EVERY_MS = HOUR_MS

export interface RetentionSettings {
  /** Days that data erased by sites is kept; 0 keeps none. */
  readonly erasedKeepDays: number
  /** Days that entries of the audit logs of sites are kept; 0 keeps them permanently. */
  readonly auditLogRetentionDays: number
}

export function createRetention(database: Database, clock: Clock, log: Log, settings: RetentionSettings): RepeatedTask {
  return new RepeatedTask({
    everyMs: RUN_EVERY_MS,
    task: (isStopping) => deleteOld(database, clock.nowMs(), settings, isStopping),
    failure: 'cannot delete what sites erased or old entries of audit logs; retrying later',
    log,
  })
}

async function deleteOld(
  database: Database,
  nowMs: number,
  { erasedKeepDays, auditLogRetentionDays }: RetentionSettings,
  isStopping: () => boolean,
): Promise<void> {
  for (const { siteId } of await listSites(database)) {
    const erasedThroughMs = nowMs - erasedKeepDays * DAY_MS
    if (!isStopping() && (await hasErased(database, siteId, erasedThroughMs)))
      await deleteErased(database, siteId, erasedThroughMs)
    if (auditLogRetentionDays === 0) continue
    const beforeMs = nowMs - auditLogRetentionDays * DAY_MS
    while (!isStopping() && (await hasOldAuditEntries(database, siteId, beforeMs)))
      await inSite(database, siteId, (sql) => deleteAuditEntries(sql, siteId, beforeMs))
  }
}
