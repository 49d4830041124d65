import type { z } from 'zod'
import type { Database, Sql } from '#hub/store/database/database.ts'
import { archiveDevices } from '#hub/store/erased.ts'
import { keepLatestOf, latestSize, type NewLatestRow, putLatest } from '#hub/store/latest.ts'
import { inActiveSite } from '#hub/store/sites.ts'
import { addStoredBytes, ROW_BYTES } from '#hub/store/stored-bytes.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import type { Clock } from '#shared/time.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { Latest, latestAnswerSchema, SyncCursors } from '#shared/wire/replication/sync.ts'
import { advertisedLimits, CursorConflictError } from './hello.ts'
import { registerSender } from './senders.ts'
import type { SiteBudgets } from './site-budgets.ts'
import { isStorable } from './synced-rows.ts'

const MAX_ID_LENGTH = 64
/** Maximum number of stored states of a site; they are accepted even if the site is full. */
const MAX_DEVICES = 20_000
const MAX_BYTES = 64 << 20

interface LatestDeps {
  readonly database: Database
  readonly clock: Clock
  readonly budgets: SiteBudgets
  /** True if devices that the gateway no longer has are archived for a time. */
  readonly keepsErased: boolean
}

/** Stores new device states. Throws `cursor` if the hub has less than it acknowledged, `site_full` for too many. */
export async function applyLatest(
  { database, clock, budgets, keepsErased }: LatestDeps,
  siteId: string,
  latest: Latest,
): Promise<z.infer<typeof latestAnswerSchema>> {
  const rows = statesOf(latest.devices)
  const nowMs = clock.nowMs()
  const contact = { nowMs, backlog: latest.backlog, clockOffsetMs: latest.at_ms - nowMs }
  return inActiveSite(database, siteId, contact, async (sql, site) => {
    const { cursors } = await registerSender(sql, site, latest, nowMs)
    requireAcked(cursors, latest.backlog.acked)
    await putLatest(sql, siteId, latest.at_ms, [...rows.values()])
    // without room to archive removed devices they stay
    if (latest.is_complete && budgets.hasReserve(site.storedBytes)) {
      const forgotten = await keepLatestOf(sql, siteId, latest.at_ms, [...rows.keys()])
      if (keepsErased) {
        await archiveDevices(sql, siteId, forgotten, nowMs)
        const bytes = forgotten.reduce((sum, { body }) => sum + Buffer.byteLength(body) + ROW_BYTES, 0)
        await addStoredBytes(sql, siteId, bytes)
      }
    }
    const { devices, bytes } = await latestSize(sql, siteId)
    if (devices > MAX_DEVICES || bytes > MAX_BYTES)
      throw budgets.full(`the hub keeps the states of at most ${MAX_DEVICES} devices, in ${MAX_BYTES} bytes`)
    return { limits: advertisedLimits(budgets), intents_waiting: site.intentSeq > site.intentsAfter }
  })
}

/** Throws `cursor` if more was acknowledged to the gateway than the hub has: its backlog report is then wrong too. */
function requireAcked(cursors: SyncCursors, acked: Latest['backlog']['acked'] = {}): void {
  if (SYNC_STREAMS.every((stream) => (acked[stream] ?? 0) <= cursors[stream].seq)) return
  throw new CursorConflictError('cursor', 'the hub has less than it acknowledged', cursors)
}

type States = ReadonlyMap<string, NewLatestRow>

/** Returns states in the stored form. Throws `invalid_body` for a state without a device. */
export function statesOf(devices: Latest['devices']): States {
  const states = new Map<string, NewLatestRow>()
  for (const { cart_said, ...device } of devices) {
    const hardwareId = device.hardware_id
    if (typeof hardwareId !== 'string' || hardwareId.length > MAX_ID_LENGTH || !isStorable(hardwareId)) {
      throw new InvalidRequestError('invalid_body', 'devices: a device without a hardware_id')
    }
    const cartReport = cart_said === undefined ? null : JSON.stringify(cart_said)
    states.set(hardwareId, { hardwareId, body: JSON.stringify(device), cartReport })
  }
  return states
}

/** Stores the states of all devices at a time in the past, except for those with newer ones. */
export async function putOlderStates(
  sql: Sql,
  siteId: string,
  { atMs, nowMs, keepsErased }: { atMs: number; nowMs: number; keepsErased: boolean },
  states: States,
): Promise<void> {
  await putLatest(sql, siteId, atMs, [...states.values()], Number.POSITIVE_INFINITY)
  const forgotten = await keepLatestOf(sql, siteId, atMs, [...states.keys()], Number.POSITIVE_INFINITY)
  if (keepsErased) await archiveDevices(sql, siteId, forgotten, nowMs)
}
