import type { AuditKind } from '#shared/wire/replication/sync.ts'
import type { Sql } from './database/database.ts'

export interface AuditRecord {
  readonly kind: AuditKind
  /** -1 for entities. */
  readonly dayMs: number
  readonly auditedAtMs: number
  /** Rows at the gateway. */
  readonly rows: number
  readonly missingGroups: number
  /** Rows that only the hub has. */
  readonly extra: number
}

/** Stores the result of the last comparison of a day. Inside the site's lock. */
export async function recordAudit(sql: Sql, siteId: string, record: AuditRecord): Promise<void> {
  const values = [
    siteId,
    record.kind,
    record.dayMs,
    record.auditedAtMs,
    record.rows,
    record.missingGroups,
    record.extra,
  ]
  const updated = await sql.run(
    `UPDATE audit SET audited_at_ms = $4, row_count = $5, missing_groups = $6, extra_count = $7
      WHERE site_id = $1 AND kind = $2 AND day_ms = $3`,
    values,
  )
  if (updated > 0) return
  await sql.run(
    `INSERT INTO audit (site_id, kind, day_ms, audited_at_ms, row_count, missing_groups, extra_count)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    values,
  )
}
