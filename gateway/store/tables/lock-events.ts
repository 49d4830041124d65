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
    meaning: 'Missing lock events are not listed.',
  },
})

export interface LockEventRow {
  eventId: string
  hardwareId: string
  /** Registration that the event belongs to; null in rows from before this column existed. */
  shortId: string | null
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  metadataJson: string | null
}

export interface LockEventQuery extends ListPage {
  hardwareId?: string | undefined
  registration?: Registration | undefined
  source?: LockSource | undefined
  event?: LockKind | undefined
  code?: string | undefined
  /** Compares `code` with the masked form (`maskCode`) of the stored code. */
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

/** Key of an event within one registration of a device. */
export interface LockEventIdentity {
  hardwareId: string
  shortId: string
  identity: string
}

/** Stored form of the identity: the same report of another registration is a different event. */
export function storedIdentity({ shortId, identity }: LockEventIdentity): string {
  return `${shortId} ${identity}`
}

export function isLockEventStored(connection: Connection, event: LockEventIdentity): boolean {
  const sql = 'SELECT 1 FROM lock_event WHERE hardware_id = ? AND identity = ?'
  return connection.get(sql, event.hardwareId, storedIdentity(event)) !== undefined
}

/** Last reported state of a lock, and the requester of the command that caused it. */
export interface LatestLockEvent {
  eventId: string
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  requestedBy: string | null
}

/** Newest lock event of a registration of a device that is not after `untilMs`. */
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

/** Events by time; events of equal times in insertion order. Null if `before` is unknown. */
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

/** GLOB pattern of the codes whose masked form is `shown`. */
function patternOfMasked(shown: string | undefined): string | undefined {
  if (shown === undefined) return undefined
  const masked = readMaskedCode(shown)
  // no code is empty
  if (masked === null) return ''
  const last = masked.last.map((character) => character.replace(/[*?[]/, '[$&]'))
  return '?'.repeat(masked.hidden) + last.join('')
}
