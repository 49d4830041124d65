import { readMaskedCode } from '#shared/masked-codes.ts'
import type { Registration } from '#shared/registrations.ts'
import type { LockKind, LockSource } from '#shared/wire/lock-events.ts'
import type { Connection } from '../db/connection.ts'
import { byRegistration, type ListCondition, type ListedTable, type ListPage, listPage } from '../db/list-page.ts'
import { table } from '../db/table.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export const lockEventTable = table('lock_event', {
  care: {
    what: 'the lock events',
    size: 'large',
    meaning: 'Lock events that are missing are in no list.',
  },
})

export interface LockEventRow {
  eventId: string
  hardwareId: string
  /** Of the registration it is of; null in rows from before that was kept. */
  shortId: string | null
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  metadataJson: string | null
}

/** What to list; absent fields do not filter. */
export interface LockEventQuery extends ListPage {
  hardwareId?: string | undefined
  /** Only of this one of the device. */
  registration?: Registration | undefined
  source?: LockSource | undefined
  event?: LockKind | undefined
  code?: string | undefined
  /** `code` is compared with what `maskCode` makes of the stored one. */
  masksCodes?: boolean | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
}

const LOCK_EVENTS: ListedTable = {
  table: 'lock_event',
  id: 'event_id',
  place: ['at_ms', 'seq'],
  columns: `event_id, hardware_id, short_id, event, source, at_ms, code,
    metadata AS metadataJson`,
}

/** Which event of which registration of a device it is. */
export interface LockEventIdentity {
  hardwareId: string
  shortId: string
  identity: string
}

/** The identity as it is stored: the same report of another registration is another event. */
export function storedIdentity({ shortId, identity }: LockEventIdentity): string {
  return `${shortId} ${identity}`
}

/** Whether this report of a lock event has been stored before. */
export function isLockEventStored(connection: Connection, event: LockEventIdentity): boolean {
  const sql = 'SELECT 1 FROM lock_event WHERE hardware_id = ? AND identity = ?'
  return connection.get(sql, event.hardwareId, storedIdentity(event)) !== undefined
}

/** The last that was said of a lock, and who asked for the command that led to it. */
export interface LatestLockEvent {
  eventId: string
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  requestedBy: string | null
}

/** The newest lock event of a registration of a device, whose times are not after `untilMs`. */
export function latestLockEvent(
  connection: Connection,
  { hardwareId, shortId, sinceMs }: { hardwareId: string } & Registration,
  untilMs: number,
): LatestLockEvent | undefined {
  return connection.get<LatestLockEvent>(
    `SELECT e.event_id, e.event, e.source, e.at_ms, e.code, c.requested_by
     FROM lock_event e
     LEFT JOIN command c ON c.command_id = e.command_id AND c.hardware_id = e.hardware_id
     WHERE e.hardware_id = ? AND ifnull(e.short_id = ?, e.at_ms >= ?) AND e.at_ms <= ?
     ORDER BY e.at_ms DESC, e.seq DESC LIMIT 1`,
    hardwareId,
    shortId,
    sinceMs,
    untilMs,
  )
}

/** By time, of equal times in the order they were stored; null when `before` is unknown. */
export function listLockEvents(
  { connection }: Pick<ReaderTools, 'connection'>,
  query: LockEventQuery,
): LockEventRow[] | null {
  const conditions: ListCondition[] = [
    ['hardware_id = ?', query.hardwareId],
    byRegistration(query.registration),
    query.masksCodes ? ['code GLOB ?', patternOfMasked(query.code)] : ['code = ?', query.code],
    ['source = ?', query.source],
    ['event = ?', query.event],
    ['at_ms >= ?', query.fromMs],
    ['at_ms <= ?', query.toMs],
  ]
  return listPage<LockEventRow>(connection, LOCK_EVENTS, conditions, query)
}

/** A pattern of the codes that are shown as this to whom codes are masked. */
function patternOfMasked(shown: string | undefined): string | undefined {
  if (shown === undefined) return undefined
  const masked = readMaskedCode(shown)
  // no code is empty
  if (masked === null) return ''
  const last = masked.last.map((character) => character.replace(/[*?[]/, '[$&]'))
  return '?'.repeat(masked.hidden) + last.join('')
}
