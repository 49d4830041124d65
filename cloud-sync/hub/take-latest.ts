import type { z } from 'zod'
import { InvalidRequestError } from '../../shared/errors.ts'
import type { Clock } from '../../shared/time.ts'
import type { Latest, latestAnswerSchema } from '../../shared/wire/sync.ts'
import { meetSender } from './senders.ts'
import type { Database } from './store/database.ts'
import { keepLatestOf, putLatest, recordBacklog } from './store/latest.ts'
import { inSite } from './store/sites.ts'
import { LIMITS } from './sync-limits.ts'
import { isStorable } from './synced-rows.ts'

const MAX_ID_LENGTH = 64

/** Keeps the newest states of devices. */
export async function takeLatest(
  { database, clock }: { database: Database; clock: Clock },
  siteId: string,
  latest: Latest,
): Promise<z.infer<typeof latestAnswerSchema>> {
  const rows = new Map<string, { hardwareId: string; body: string }>()
  for (const device of latest.devices) {
    const hardwareId = device.hardware_id
    if (typeof hardwareId !== 'string' || hardwareId.length > MAX_ID_LENGTH || !isStorable(hardwareId)) {
      throw new InvalidRequestError('invalid_body', 'devices: a device without a hardware_id')
    }
    rows.set(hardwareId, { hardwareId, body: JSON.stringify(device) })
  }
  return inSite(database, siteId, async (sql, site) => {
    await meetSender(sql, site, latest, clock.nowMs())
    await putLatest(sql, siteId, latest.at_ms, [...rows.values()])
    if (latest.is_complete) await keepLatestOf(sql, siteId, latest.at_ms, [...rows.keys()])
    await recordBacklog(sql, siteId, latest.backlog)
    return { limits: LIMITS, intents_waiting: site.intentSeq > site.intentsAfter }
  })
}
