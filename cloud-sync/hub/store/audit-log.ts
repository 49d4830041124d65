import { isBlanked } from '#shared/blank-strings.ts'
import { RowHashSum } from '#shared/sync-hash.ts'
import type { AuditEntryBody } from '#shared/wire/replication/sync.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { Sql, SqlValue } from './database/database.ts'
import { inChunks, insertRows, placeholders } from './database/insert-rows.ts'

export interface NewAuditEntry {
  readonly entryId: string
  /** Position in the stream. */
  readonly seq: number
  readonly atMs: number
  readonly userId: string | null
  readonly action: string
  /** JSON as received. */
  readonly body: string
}

/**
 * Stores audit log entries of a gateway. Of an entry that exists, or was deleted for its age, only the fields that the
 * site erased become empty. With `isPast` (an epoch that the site has left), an entry of a later epoch stays with it.
 */
export async function putAuditEntries(
  sql: Sql,
  { siteId, epoch, isPast }: { siteId: string; epoch: string; isPast: boolean },
  entries: readonly NewAuditEntry[],
): Promise<void> {
  const inserted = await insertRows(
    sql,
    'audit_entry',
    ['site_id', 'entry_id', 'epoch', 'seq', 'at_ms', 'user_id', 'action', 'body'],
    entries.map(({ entryId, seq, atMs, userId, action, body }) => [
      siteId,
      entryId,
      epoch,
      seq,
      atMs,
      userId,
      action,
      body,
    ]),
  )
  if (inserted < entries.length) await takeErased(sql, siteId, entries)
  if (isPast) return
  for (const some of inChunks(entries)) {
    const values = placeholders(some.length, 2, 2, ['TEXT', 'BIGINT'])
    await sql.run(
      `UPDATE audit_entry SET epoch = $2, seq = v.seq FROM (VALUES ${values}) AS v (entry_id, seq)
        WHERE audit_entry.site_id = $1 AND audit_entry.entry_id = v.entry_id AND audit_entry.epoch <> $2`,
      [siteId, epoch, ...some.flatMap(({ entryId, seq }) => [entryId, seq])],
    )
  }
}

/** Empties the strings of entries that are now empty at the site; the site key allows no other change. */
async function takeErased(sql: Sql, siteId: string, entries: readonly NewAuditEntry[]): Promise<void> {
  for (const some of inChunks(entries)) {
    const values = placeholders(some.length, 2, 1, ['TEXT', 'TEXT'])
    const others = await sql.all<{ key: string; known: string | null; body: string }>(
      `SELECT entry_id AS "key", audit_entry.body AS known, v.body FROM audit_entry
         JOIN (VALUES ${values}) AS v (key, body) ON v.key = audit_entry.entry_id
        WHERE audit_entry.site_id = $1 AND audit_entry.body IS DISTINCT FROM v.body`,
      [siteId, ...some.flatMap(({ entryId, body }) => [entryId, body])],
    )
    for (const { key, known, body } of others) {
      // of an entry deleted for its age only the sum is left
      if (known === null)
        await sql.run('UPDATE audit_entry SET row_sum = $3 WHERE site_id = $1 AND entry_id = $2', [
          siteId,
          key,
          sumOf(textOf(key, body)),
        ])
      else if (isErasedFrom(JSON.parse(known), JSON.parse(body)))
        await sql.run('UPDATE audit_entry SET body = $3 WHERE site_id = $1 AND entry_id = $2', [siteId, key, body])
    }
  }
}

/** True if `now` differs from `known` only by an erasure. */
function isErasedFrom(known: Record<string, unknown>, now: Record<string, unknown>): boolean {
  const { person, before, after, ...fixed } = known
  const { person: personNow, before: beforeNow, after: afterNow, ...fixedNow } = now
  return (
    JSON.stringify(fixed) === JSON.stringify(fixedNow) &&
    isBlanked([person, before, after], [personNow, beforeNow, afterNow])
  )
}

/** Sums the newest `count` entries sent by this epoch: its gateway still has those, as it deletes the oldest first. */
export async function sumAuditEntries(
  sql: Sql,
  siteId: string,
  epoch: string,
  count: number,
  sum: RowHashSum,
): Promise<void> {
  const entries = await sql.all<{ key: string; body: string | null; rowSum: string | null }>(
    `SELECT entry_id AS "key", body, row_sum AS "rowSum" FROM audit_entry WHERE site_id = $1 AND epoch = $2
      ORDER BY at_ms DESC, seq DESC LIMIT $3`,
    [siteId, epoch, count],
  )
  for (const { key, body, rowSum } of entries) {
    if (body === null) sum.add(BigInt(`0x${rowSum}`))
    else sum.addText(textOf(key, body))
  }
}

/** Drops the sums of deleted entries of this epoch that are not among its newest `count`: the gateway lacks them. */
export async function forgetDeletedEntries(sql: Sql, siteId: string, epoch: string, count: number): Promise<void> {
  await sql.run(
    `DELETE FROM audit_entry WHERE site_id = $1 AND epoch = $2 AND body IS NULL AND entry_id NOT IN
       (SELECT entry_id FROM audit_entry WHERE site_id = $1 AND epoch = $2 ORDER BY at_ms DESC, seq DESC LIMIT $3)`,
    [siteId, epoch, count],
  )
}

/** Entries per transaction: the site waits for each. */
const DELETED_AT_ONCE = 1000

/**
 * Deletes the oldest entries from before a time, but keeps the sums that an audit of the sync compares: without them it
 * would request the entries again and again. Returns the number deleted; there may be more. Inside the site's lock.
 */
export async function deleteAuditEntries(sql: Sql, siteId: string, beforeMs: number): Promise<number> {
  // an earlier hub kept entries among the entities, where no API lists them: their gateway sends them again
  await sql.run("DELETE FROM entity WHERE site_id = $1 AND entity_table = 'audit_entry'", [siteId])
  const old = await sql.all<{ key: string; body: string }>(
    `SELECT entry_id AS "key", body FROM audit_entry WHERE site_id = $1 AND at_ms < $2 AND body IS NOT NULL
      ORDER BY at_ms LIMIT $3`,
    [siteId, beforeMs, DELETED_AT_ONCE],
  )
  for (const some of inChunks(old)) {
    const values = placeholders(some.length, 2, 1, ['TEXT', 'TEXT'])
    await sql.run(
      `UPDATE audit_entry SET body = NULL, user_id = NULL, action = '', row_sum = v.row_sum
         FROM (VALUES ${values}) AS v (entry_id, row_sum)
        WHERE audit_entry.site_id = $1 AND audit_entry.entry_id = v.entry_id`,
      [siteId, ...some.flatMap(({ key, body }) => [key, sumOf(textOf(key, body))])],
    )
  }
  return old.length
}

/** True if `deleteAuditEntries` has work to do. */
export async function hasOldAuditEntries(sql: Sql, siteId: string, beforeMs: number): Promise<boolean> {
  const row = await sql.get<{ isOld: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM audit_entry WHERE site_id = $1 AND at_ms < $2 AND body IS NOT NULL)
         OR EXISTS (SELECT 1 FROM entity WHERE site_id = $1 AND entity_table = 'audit_entry') AS "isOld"`,
    [siteId, beforeMs],
  )
  return row?.isOld === true
}

/** Returns the content that identifies an entry, on both sides. */
function textOf(key: string, body: string): string {
  return `["audit_entry",${JSON.stringify(key)},${body}]`
}

function sumOf(text: string): string {
  const sum = new RowHashSum()
  sum.addText(text)
  return sum.toString()
}

/** Filters of a list; missing fields do not filter. */
export interface AuditLogQuery {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  readonly userId: string | undefined
  readonly action: string | undefined
  readonly order: ListOrder
  readonly limit: number
  readonly offset: number
}

/** Lists entries by time; entries with equal times are in the order in which the gateway wrote them. */
export async function listAuditEntries(
  sql: Sql,
  siteId: string,
  { fromMs, toMs, userId, action, order, limit, offset }: AuditLogQuery,
): Promise<{ entryId: string; body: AuditEntryBody }[]> {
  const values: SqlValue[] = [siteId]
  const conditions = ['site_id = $1', 'body IS NOT NULL']
  for (const [condition, value] of [
    ['at_ms >=', fromMs],
    ['at_ms <=', toMs],
    ['user_id =', userId],
    ['action =', action],
  ] as const) {
    if (value !== undefined) conditions.push(`${condition} $${values.push(value)}`)
  }
  const rows = await sql.all<{ entryId: string; body: string }>(
    `SELECT entry_id AS "entryId", body FROM audit_entry WHERE ${conditions.join(' AND ')}
      ORDER BY at_ms ${order}, seq ${order}, entry_id ${order}
      LIMIT $${values.push(limit)} OFFSET $${values.push(offset)}`,
    values,
  )
  return rows.map(({ entryId, body }) => ({ entryId, body: JSON.parse(body) }))
}
