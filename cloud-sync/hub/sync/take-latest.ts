import type { z } from 'zod'
import type { Database, Sql } from '#hub/store/database/database.ts'
import { keepLatestOf, putLatest } from '#hub/store/latest.ts'
import { inHeardSite } from '#hub/store/sites.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import type { Clock } from '#shared/time.ts'
import type { Latest, latestAnswerSchema } from '#shared/wire/sync.ts'
import { toldLimits } from './hello.ts'
import { meetSender } from './senders.ts'
import type { SiteBudgets } from './site-budgets.ts'
import { isStorable } from './synced-rows.ts'

const MAX_ID_LENGTH = 64

/** Keeps the newest states of devices. */
export async function takeLatest(
  { database, clock, budgets }: { database: Database; clock: Clock; budgets: SiteBudgets },
  siteId: string,
  latest: Latest,
): Promise<z.infer<typeof latestAnswerSchema>> {
  const rows = statesOf(latest.devices)
  const heard = { nowMs: clock.nowMs(), backlog: latest.backlog }
  return inHeardSite(database, siteId, heard, async (sql, site) => {
    await meetSender(sql, site, latest, heard.nowMs)
    await putStates(sql, siteId, latest.at_ms, rows, latest.is_complete)
    return { limits: toldLimits(budgets), intents_waiting: site.intentSeq > site.intentsAfter }
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

/** Keeps the states of all devices as they were at some moment in the past, where no newer ones are. */
export async function putOlderStates(sql: Sql, siteId: string, atMs: number, states: States): Promise<void> {
  await putLatest(sql, siteId, atMs, [...states.values()], Number.POSITIVE_INFINITY)
  await keepLatestOf(sql, siteId, atMs, [...states.keys()], Number.POSITIVE_INFINITY)
}

/** Keeps states of some moment, unless newer ones are there; if they are of all devices, others are gone. */
async function putStates(
  sql: Sql,
  siteId: string,
  atMs: number,
  states: States,
  isComplete: boolean,
): Promise<void> {
  await putLatest(sql, siteId, atMs, [...states.values()])
  if (isComplete) await keepLatestOf(sql, siteId, atMs, [...states.keys()])
}
