import type { ListOrder } from '#shared/wire/params.ts'
import type { AuditEntryBody } from '#shared/wire/sync.ts'
import type { Sql, SqlValue } from './database/database.ts'
import { inPieces, insertRows, placeholders } from './database/insert-rows.ts'

export interface NewAuditEntry {
  readonly entryId: string
  /** Its place in the stream. */
  readonly seq: number
  readonly atMs: number
  readonly userId: string | null
  readonly action: string
  /** JSON, as it came. */
  readonly body: string
}

/**
 * Stores entries of the audit log of a gateway; one that is there stays as it is. With `isPast` they come from an epoch
 * that the site has left: what a later one has sent since stays that one's.
 */
export async function putAuditEntries(
  sql: Sql,
  { siteId, epoch, isPast }: { siteId: string; epoch: string; isPast: boolean },
  entries: readonly NewAuditEntry[],
): Promise<void> {
  await insertRows(
    sql,
    'audit_entry',
    ['site_id', 'entry_id', 'epoch', 'seq', 'at_ms', 'user_id', 'action', 'body'],
    entries.map(({ entryId, seq, atMs, userId, action, body }) => [
      ...[siteId, entryId, epoch, seq, atMs, userId, action, body],
    ]),
  )
  if (isPast) return
  for (const some of inPieces(entries)) {
    const values = placeholders(some.length, 2, 2, ['TEXT', 'BIGINT'])
    await sql.run(
      `UPDATE audit_entry SET epoch = $2, seq = v.seq FROM (VALUES ${values}) AS v (entry_id, seq)
        WHERE audit_entry.site_id = $1 AND audit_entry.entry_id = v.entry_id AND audit_entry.epoch <> $2`,
      [siteId, epoch, ...some.flatMap(({ entryId, seq }) => [entryId, seq])],
    )
  }
}

/** The newest so many that this epoch sent: those its gateway still has, for the oldest go first there. */
export async function newestAuditEntries(
  sql: Sql,
  siteId: string,
  epoch: string,
  count: number,
): Promise<{ key: string; body: string }[]> {
  return sql.all(
    `SELECT entry_id AS "key", body FROM audit_entry WHERE site_id = $1 AND epoch = $2
      ORDER BY at_ms DESC, seq DESC LIMIT $3`,
    [siteId, epoch, count],
  )
}

/** What to list; absent fields do not filter. */
export interface AuditLogQuery {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  readonly userId: string | undefined
  readonly action: string | undefined
  readonly order: ListOrder
  readonly limit: number
  readonly offset: number
}

/** By time, of equal times in the order the gateway wrote them. */
export async function listAuditEntries(
  sql: Sql,
  siteId: string,
  { fromMs, toMs, userId, action, order, limit, offset }: AuditLogQuery,
): Promise<{ entryId: string; body: AuditEntryBody }[]> {
  const values: SqlValue[] = [siteId]
  const conditions = ['site_id = $1']
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
