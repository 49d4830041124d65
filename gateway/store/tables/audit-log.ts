import { type AuditRecord, event, type TimedActor, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { type ListCondition, type ListedTable, type ListPage, listPage } from '../db/list-page.ts'
import { names, table } from '../db/table.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export const auditEntryTable = table('audit_entry', {
  care: {
    what: 'the audit log',
    size: 'large',
    meaning: 'Missing entries are not listed.',
  },
  json: {
    person: null,
    before: null,
    after: null,
  },
  replicated: {
    columns: names('entry_id, at_ms, user_id, person, session_id, address, action, target, before, after'),
    times: ['at_ms'],
    key: 't.entry_id',
    where: 't.entry_id = ?',
  },
  erases: { json: ['person', 'before', 'after'] },
})

export interface AuditRow extends Omit<TimedActor, 'person'> {
  personJson: string | null
  entryId: string
  action: string
  target: string
  beforeJson: string | null
  afterJson: string | null
}

export interface AuditQuery extends Pick<ListPage, 'order' | 'limit' | 'offset'> {
  fromMs?: number | undefined
  toMs?: number | undefined
  userId?: string | undefined
  action?: string | undefined
}

const AUDIT_ENTRIES: ListedTable = {
  table: 'audit_entry',
  id: 'entry_id',
  place: ['at_ms', 'seq'],
  columns: `entry_id, at_ms, user_id, person AS personJson, session_id, address, action, target, before AS beforeJson,
    after AS afterJson`,
}

/** Inserts an entry, in the transaction of the act that it records. */
export function insertAuditEntry(
  connection: Connection,
  { atMs, userId, person, sessionId, address }: TimedActor,
  { action, target, before, after }: AuditRecord,
): void {
  connection.run(
    `INSERT INTO audit_entry (entry_id, at_ms, user_id, person, session_id, address, action, target, before, after)
     VALUES (lower(hex(randomblob(16))), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    atMs,
    userId,
    textOf(toPersonJson(person)),
    sessionId,
    address,
    action,
    target,
    textOf(before),
    textOf(after),
  )
}

/** Entries by time; entries of equal times in insertion order. */
export function listAuditEntries({ connection }: Pick<ReaderTools, 'connection'>, query: AuditQuery): AuditRow[] {
  const { fromMs, toMs, userId, action, ...page } = query
  const conditions: ListCondition[] = [
    ['user_id = ?', userId],
    // with a user, the index of the user is the better one
    [userId === undefined ? 'action = ?' : '+action = ?', action],
    ['at_ms >= ?', fromMs],
    ['at_ms <= ?', toMs],
  ]
  return listPage<AuditRow>(connection, AUDIT_ENTRIES, conditions, page) ?? []
}

/** Writes only an audit entry; open enrolment is held in memory. */
export const noteEnrolment = write(
  (_connection: Connection, _input: { minutes: number }): null => {
    return null
  },
  {
    audit:
      (_, { minutes }) =>
      () => [event('enrolment.opened', 'enrolment', { minutes })],
  },
)

/** Writes only an audit entry; a backup has no row. */
export const noteBackup = write(
  (_connection: Connection, _input: { target: string }): null => {
    return null
  },
  {
    audit:
      (_, { target }) =>
      () => [event('backup.started', 'backup', { target })],
  },
)

function toPersonJson(person: TimedActor['person']): object | null {
  return person === null ? null : { user_id: person.userId, name: person.name }
}

function textOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}
