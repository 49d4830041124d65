import { ConflictError } from '#shared/errors.ts'
import { entityRev } from '#shared/sync-hash.ts'
import { DAY_MS } from '#shared/time.ts'
import { MAX_REMEMBERED_INTENT_SEQ } from '#shared/wire/replication/replicated.ts'
import type { IntentStatus } from '#shared/wire/replication/sync.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { addNote } from '../ledger/notes.ts'
import { type EntityTable, entityBody } from './entities.ts'

/** Maximum age of received intents; their number is limited too. */
const KEPT_MS = 90 * DAY_MS
const KEPT_ROWS = 10_000
/** Old intents deleted for each new one, so that deletions are short and the number of rows is limited. */
const TRIMMED_PER_INTENT = 4

export interface StoredIntent {
  status: IntentStatus
  /** Text for people; null if it was applied. */
  reason: string | null
}

/** Revision that an intent is based on. */
export interface IntentBase {
  table: EntityTable
  key: string
  rev: string
}

export interface IntentRecord extends StoredIntent {
  intentId: string
  seq: number
  kind: string
  /** Null if any revision is accepted. */
  base: IntentBase | null
  atMs: number
  /** Current time; null if unknown, so that a wrong clock deletes nothing. */
  trustedNowMs: number | null
}

export function findIntent(connection: Connection, intentId: string): StoredIntent | undefined {
  return connection.get<StoredIntent>('SELECT status, reason FROM intent_inbox WHERE intent_id = ?', intentId)
}

/** Highest number that a gateway accepts (`MAX_REMEMBERED_INTENT_SEQ`): a hostile hub may have sent any number. */
const LAST_SEQ = `SELECT max(seq) AS seq FROM intent_inbox WHERE seq <= ${MAX_REMEMBERED_INTENT_SEQ}`

/** Highest accepted `seq` of all intents ever received; 0 for none. */
export function lastIntentSeq(connection: Connection): number {
  return connection.get<{ seq: number | null }>(LAST_SEQ)?.seq ?? 0
}

/**
 * Records an intent's outcome, for the hub too; for an applied one, in the transaction that applies it. Throws
 * `intent_known` if received before, and `intent_superseded` if its object changed since the revision it is based on.
 */
export const recordIntent = write(
  (connection: Connection, record: IntentRecord): null => {
    const { intentId, seq, kind, status, reason, base, atMs } = record
    if (findIntent(connection, intentId) !== undefined)
      throw new ConflictError('intent_known', `${intentId} was received before`)
    if (base !== null && entityRev(entityBody(connection, base.table, base.key)) !== base.rev)
      throw new ConflictError('intent_superseded', 'the site has changed it since the intent was made')
    connection.run(
      'INSERT INTO intent_inbox (intent_id, seq, kind, status, reason, received_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
      intentId,
      seq,
      kind,
      status,
      reason,
      atMs,
    )
    addNote(connection, { kind: 'intent_result', atMs, body: { intent_id: intentId, status, reason } })
    trim(connection, record)
    return null
  },
  { audit: null },
)

// The one with the highest number is kept: it determines which intents to request next.
function trim(connection: Connection, { trustedNowMs }: IntentRecord): void {
  const rows = connection.get<{ n: number }>('SELECT count(*) AS n FROM intent_inbox')?.n ?? 0
  connection.run(
    `DELETE FROM intent_inbox WHERE seq IS NOT (${LAST_SEQ}) AND (received_at_ms < ? OR ?) AND
       seq IN (SELECT seq FROM intent_inbox ORDER BY seq LIMIT ${TRIMMED_PER_INTENT})`,
    trustedNowMs === null ? 0 : trustedNowMs - KEPT_MS,
    Number(rows > KEPT_ROWS),
  )
}
