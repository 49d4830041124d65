import { insertCursors, readCursors } from '#hub/store/cursors.ts'
import type { Database } from '#hub/store/database/database.ts'
import { deleteEarlierEntities } from '#hub/store/entities.ts'
import { forgetInstances, isEpochOfAnother, recordHello } from '#hub/store/epochs.ts'
import { inSite } from '#hub/store/sites.ts'
import { addStoredBytes, ROW_BYTES } from '#hub/store/stored-bytes.ts'
import { ConflictError } from '#shared/errors.ts'
import { type Clock, DAY_MS } from '#shared/time.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { Hello, HelloAnswer, SyncCursors, SyncLimits } from '#shared/wire/replication/sync.ts'
import { registerSender, warningsFor } from './senders.ts'
import type { SiteBudgets } from './site-budgets.ts'

/** Limits of a hub: maximum size of an uncompressed request, and of a part before base64. */
export const LIMITS: SyncLimits & { records: number } = {
  part_bytes: 1_048_576,
  body_bytes: 8_388_608,
  parts: 64,
  min_interval_ms: 0,
  latest_interval_ms: 5_000,
  records: 100_000,
}

export function advertisedLimits({ recordsPerSecond }: { recordsPerSecond: number }): SyncLimits {
  return recordsPerSecond === 0 ? LIMITS : { ...LIMITS, records_per_second: recordsPerSecond }
}

/** Parts do not continue at the cursors, or the hub has more than the gateway ever had; the hub applied nothing. */
export class CursorConflictError extends ConflictError {
  readonly cursors: SyncCursors

  constructor(code: 'cursor' | 'ahead', message: string, cursors: SyncCursors) {
    super(code, message)
    this.cursors = cursors
  }
}

const INSTANCES_KEPT_MS = 30 * DAY_MS

/** Registers a gateway. Throws `foreign_epoch`, `site_full`, or `ahead` if the hub has more than its epoch ever had. */
export async function registerGateway(
  { database, clock, budgets }: { database: Database; clock: Clock; budgets: SiteBudgets },
  siteId: string,
  hello: Hello,
): Promise<HelloAnswer> {
  const { epoch, ends } = hello
  if (await isEpochOfAnother(database, siteId, epoch)) {
    throw new ConflictError('foreign_epoch', 'this database has already been replicated as another site')
  }
  return inSite(database, siteId, async (sql, site) => {
    const nowMs = clock.nowMs()
    const cursors = await readCursors(sql, siteId, epoch)
    const ahead = SYNC_STREAMS.filter((stream) => cursors[stream].seq > ends[stream])
    if (ahead.length > 0) {
      throw new CursorConflictError(
        'ahead',
        `the hub has more of ${ahead.join(', ')} than this database ever had`,
        cursors,
      )
    }
    if (await recordHello(sql, siteId, hello, nowMs)) {
      if (!budgets.hasReserve(site.storedBytes))
        throw budgets.full('this hub has no room for another epoch of this site')
      await addStoredBytes(sql, siteId, (1 + SYNC_STREAMS.length) * ROW_BYTES)
    }
    await insertCursors(sql, siteId, epoch, nowMs)
    await forgetInstances(sql, siteId, nowMs - INSTANCES_KEPT_MS)
    const sender = await registerSender(sql, site, hello, nowMs)
    // this epoch has no entities of its own to send
    if (sender.entitiesEnd === 0) await deleteEarlierEntities(sql, siteId, epoch)
    const warnings = warningsFor(site, sender, nowMs)
    return { server_time_ms: nowMs, cursors, limits: advertisedLimits(budgets), warnings, audits_through: true }
  })
}
