import type { z } from 'zod'
import { InvalidRequestError } from '../../shared/errors.ts'
import type { Clock } from '../../shared/time.ts'
import type { Latest, latestAnswerSchema } from '../../shared/wire/sync.ts'
import { meetSender } from './senders.ts'
import type { Database, Sql } from './store/database.ts'
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
  const rows = statesOf(latest.devices)
  return inSite(database, siteId, async (sql, site) => {
    await meetSender(sql, site, latest, clock.nowMs())
    await putStates(sql, siteId, latest.at_ms, rows, latest.is_complete)
    await recordBacklog(sql, siteId, latest.backlog)
    return { limits: LIMITS, intents_waiting: site.intentSeq > site.intentsAfter }
  })
}

type States = ReadonlyMap<string, { hardwareId: string; body: string }>

/** States as they are stored. Throws `invalid_body` for one that is of no device. */
export function statesOf(devices: Latest['devices']): States {
  const states = new Map<string, { hardwareId: string; body: string }>()
  for (const device of devices) {
    const hardwareId = device.hardware_id
    if (typeof hardwareId !== 'string' || hardwareId.length > MAX_ID_LENGTH || !isStorable(hardwareId)) {
      throw new InvalidRequestError('invalid_body', 'devices: a device without a hardware_id')
    }
    states.set(hardwareId, { hardwareId, body: JSON.stringify(device) })
  }
  return states
}

/** Keeps states of some moment, unless newer ones are there; if they are of all devices, others are gone. */
export async function putStates(
  sql: Sql,
  siteId: string,
  atMs: number,
  states: States,
  isComplete: boolean,
): Promise<void> {
  await putLatest(sql, siteId, atMs, [...states.values()])
  if (isComplete) await keepLatestOf(sql, siteId, atMs, [...states.keys()])
}
