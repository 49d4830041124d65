import { deleteAuditEntries, hasOldAuditEntries } from '#hub/store/audit-log.ts'
import type { Database } from '#hub/store/database/database.ts'
import { deleteErased, hasErased } from '#hub/store/erased.ts'
import { inSite, listSites } from '#hub/store/sites.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, DAY_MS, HOUR_MS } from '#shared/time.ts'
import { RepeatedTask } from './repeated-task.ts'

const RUN_EVERY_MS = HOUR_MS

/** How long the head office keeps what does not stay for ever. */
export interface RetentionSettings {
  /** What sites erased; 0 keeps nothing. */
  readonly erasedKeepDays: number
  /** Entries of the audit logs of sites; 0 keeps them for ever. */
  readonly auditLogRetentionDays: number
}

/** Deletes what is older than the head office keeps it. */
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
