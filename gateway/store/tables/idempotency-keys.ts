import { DAY_MS } from '#shared/time.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'

export const idempotencyKeyTable = table('idempotency_key', {
  care: {
    what: 'the requests made with an Idempotency-Key',
    size: 'large',
    meaning: 'A repeated request may be performed twice.',
  },
})

/** Request with an Idempotency-Key, and the commands it created. */
export interface IdempotencyKey {
  userId: string
  key: string
  /** Hash of the request. */
  fingerprint: string
  commandIds: string[]
  /** Response fields in addition to the commands, as JSON; null for none. */
  outcomeJson: string | null
  createdAtMs: number
}

/** Time during which a key identifies the same request. */
const KEPT_MS = DAY_MS
const KEPT_ROWS = 50_000
const STEP_ROWS = 50

/** Request that a key identifies at `nowMs`; undefined if the key is new or expired. */
export function findIdempotencyKey(
  connection: Connection,
  userId: string,
  key: string,
  nowMs: number,
): IdempotencyKey | undefined {
  const row = connection.get<Omit<IdempotencyKey, 'commandIds'> & { commandIdsJson: string }>(
    `SELECT user_id, key, fingerprint, command_ids AS commandIdsJson, outcome AS outcomeJson,
       created_at_ms
     FROM idempotency_key WHERE user_id = ? AND key = ?`,
    userId,
    key,
  )
  if (row === undefined || nowMs - row.createdAtMs >= KEPT_MS) return undefined
  const { commandIdsJson, ...rest } = row
  return { ...rest, commandIds: JSON.parse(commandIdsJson) }
}

/** Stores a key, and deletes some expired ones. */
export function keepIdempotencyKey(connection: Connection, kept: IdempotencyKey): void {
  const { userId, key, fingerprint, commandIds, outcomeJson, createdAtMs } = kept
  connection.run(
    `INSERT OR REPLACE INTO idempotency_key (user_id, key, fingerprint, command_ids, outcome, created_at_ms)
     VALUES (?, ?, ?, ?, ?, ?)`,
    userId,
    key,
    fingerprint,
    JSON.stringify(commandIds),
    outcomeJson,
    createdAtMs,
  )
  connection.run(
    `DELETE FROM idempotency_key WHERE seq IN (
       SELECT seq FROM idempotency_key WHERE created_at_ms <= ? ORDER BY created_at_ms LIMIT ${STEP_ROWS})`,
    createdAtMs - KEPT_MS,
  )
  connection.run(`DELETE FROM idempotency_key WHERE seq <= (SELECT max(seq) FROM idempotency_key) - ${KEPT_ROWS}`)
}

/** Deletes the key of the request whose first command this is; it must be among the last hundred. */
export function forgetIdempotencyKeyOf(connection: Connection, commandId: string): void {
  connection.run(
    `DELETE FROM idempotency_key WHERE seq > (SELECT max(seq) FROM idempotency_key) - 100
       AND json_extract(command_ids, '$[0]') = ?`,
    commandId,
  )
}
