import type { LockKind, LockSource } from '#shared/wire/lock-events.ts'
import type { Connection } from './db/connection.ts'

export interface LockEventRow {
  eventId: string
  hardwareId: string
  event: LockKind
  source: LockSource
  atMs: number
  code: string | null
  metadataJson: string | null
}

/** What to list; absent fields do not filter. */
export interface LockEventQuery {
  hardwareId?: string | undefined
  /** The devices the caller may see; undefined is all. */
  visibleHardwareIds?: readonly string[] | undefined
  source?: LockSource | undefined
  event?: LockKind | undefined
  code?: string | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
  limit: number
  offset: number
}

/** Whether this report of a lock event has been stored before. */
export function isLockEventStored(connection: Connection, hardwareId: string, identity: string): boolean {
  const sql = 'SELECT 1 FROM lock_event WHERE hardware_id = ? AND identity = ?'
  return connection.get(sql, hardwareId, identity) !== undefined
}

/** Newest first; of equal times the later stored first. */
export function listLockEvents(connection: Connection, query: LockEventQuery): LockEventRow[] {
  const conditions: [sql: string, value: string | number | undefined][] = [
    ['hardware_id = ?', query.hardwareId],
    ['hardware_id IN (SELECT value FROM json_each(?))', visibleJson(query)],
    ['source = ?', query.source],
    ['event = ?', query.event],
    ['code = ?', query.code],
    ['at_ms >= ?', query.fromMs],
    ['at_ms <= ?', query.toMs],
  ]
  const used = conditions.filter(
    (condition): condition is [string, string | number] => condition[1] !== undefined,
  )
  const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')}`
  return connection.all<LockEventRow>(
    `SELECT event_id AS eventId, hardware_id AS hardwareId, event, source, at_ms AS atMs, code, metadata AS metadataJson
     FROM lock_event ${where} ORDER BY at_ms DESC, seq DESC LIMIT ? OFFSET ?`,
    ...used.map(([, value]) => value),
    query.limit,
    query.offset,
  )
}

function visibleJson(query: LockEventQuery): string | undefined {
  return query.visibleHardwareIds === undefined ? undefined : JSON.stringify(query.visibleHardwareIds)
}
