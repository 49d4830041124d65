import type { AuditKind } from '#shared/wire/replication/sync.ts'
import type { Sql } from './database/database.ts'
import { insertRows } from './database/insert-rows.ts'

export interface AuditedDay {
  readonly kind: AuditKind
  /** -1 for entities. */
  readonly dayMs: number
}

/** Group that the hub has requested from a gateway again. */
export interface AuditResend {
  readonly group: string
  /** Count and sum of the rows at the gateway. */
  readonly gatewayRows: string
  /** Count and sum of the hub's rows when all rows of the group had arrived; null before. */
  readonly hubRows: string | null
  readonly resentCount: number
}

/** Returns the groups of a day that the hub has requested again. */
export async function auditResends(
  sql: Sql,
  siteId: string,
  { kind, dayMs }: AuditedDay,
): Promise<Map<string, AuditResend>> {
  const rows = await sql.all<AuditResend>(
    `SELECT group_name AS "group", gateway_rows AS "gatewayRows", hub_rows AS "hubRows",
            resent_count AS "resentCount"
       FROM audit_resend WHERE site_id = $1 AND kind = $2 AND day_ms = $3`,
    [siteId, kind, dayMs],
  )
  return new Map(rows.map((row) => [row.group, row]))
}

export async function replaceAuditResends(
  sql: Sql,
  siteId: string,
  { kind, dayMs }: AuditedDay,
  resends: readonly AuditResend[],
): Promise<void> {
  await sql.run('DELETE FROM audit_resend WHERE site_id = $1 AND kind = $2 AND day_ms = $3', [siteId, kind, dayMs])
  await insertRows(
    sql,
    'audit_resend',
    ['site_id', 'kind', 'day_ms', 'group_name', 'gateway_rows', 'hub_rows', 'resent_count'],
    resends.map(({ group, gatewayRows, hubRows, resentCount }) => [
      siteId,
      kind,
      dayMs,
      group,
      gatewayRows,
      hubRows,
      resentCount,
    ]),
  )
}

export async function countResent(
  sql: Sql,
  siteId: string,
  { kind, dayMs }: AuditedDay,
  group: string,
  count: number,
): Promise<void> {
  await sql.run(
    `UPDATE audit_resend SET resent_count = resent_count + $5
      WHERE site_id = $1 AND kind = $2 AND day_ms = $3 AND group_name = $4`,
    [siteId, kind, dayMs, group, count],
  )
}
