import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { Database, Sql } from './database/database.ts'
import { deviceCounts } from './latest.ts'
import { inSite } from './sites.ts'

/** Site with the last report of its gateway. Times in milliseconds. */
export interface SiteRow {
  site_id: string
  name: string
  created_at_ms: number
  program: string | null
  clock_offset_ms: number | null
  is_clock_trusted: boolean | null
  last_seen_ms: number | null
  backlog_rows: number | null
  backlog_oldest_ms: number | null
  two_gateways_ms: number | null
  reported_ms: number | null
  unconfirmed_rows: number | null
  stored_bytes: number
}

export interface SiteEpochRow {
  site_id: string
  epoch: string
  forked_from: string | null
  reason: string | null
  first_seen_ms: number
  last_seen_ms: number
}

export interface SiteFigures {
  devices: number
  keys: number
  gapCount: number
  gapRows: number
  quarantined: number
  audit: AuditFigures | null
  epochs: SiteEpochRow[]
}

export interface AuditFigures {
  auditedAtMs: number
  rows: number
  confirmed: number
  missing: number
  extra: number
}

const COLUMNS = `site_id, name, created_at_ms, program, clock_offset_ms, is_clock_trusted, last_seen_ms, backlog_rows,
  backlog_oldest_ms, two_gateways_ms, reported_ms, unconfirmed_rows, stored_bytes`

export function findSite(sql: Sql, siteId: string): Promise<SiteRow | undefined> {
  return sql.get<SiteRow>(`SELECT ${COLUMNS} FROM site WHERE site_id = $1`, [siteId])
}

/** Returns a page of sites sorted by site_id; `siteIds` null selects all. */
export function pageOfSites(
  sql: Sql,
  siteIds: readonly string[] | null,
  { order, limit, offset }: { order: ListOrder; limit: number; offset: number },
): Promise<SiteRow[]> {
  const page = [limit, offset]
  return siteIds === null
    ? sql.all<SiteRow>(`SELECT ${COLUMNS} FROM site ORDER BY site_id ${order} LIMIT $1 OFFSET $2`, page)
    : sql.all<SiteRow>(
        `SELECT ${COLUMNS} FROM site WHERE site_id = ANY($3) ORDER BY site_id ${order} LIMIT $1 OFFSET $2`,
        [...page, siteIds],
      )
}

/** Throws `site_not_found`. */
export async function renameSite(database: Database, siteId: string, name: string): Promise<void> {
  await inSite(database, siteId, (sql) => sql.run('UPDATE site SET name = $2 WHERE site_id = $1', [siteId, name]))
}

type Counted = { site_id: string; count: number }

export async function siteFigures(sql: Sql, siteIds: readonly string[]): Promise<Map<string, SiteFigures>> {
  const figures = new Map<string, SiteFigures>()
  if (siteIds.length === 0) return figures
  for (const siteId of siteIds)
    figures.set(siteId, {
      devices: 0,
      keys: 0,
      gapCount: 0,
      gapRows: 0,
      quarantined: 0,
      audit: null,
      epochs: [],
    })
  const [devices, keys, gaps, quarantined, audits, epochs] = await Promise.all([
    deviceCounts(sql, siteIds),
    sql.all<Counted>(
      `SELECT site_id, COUNT(*) AS count FROM site_key
       WHERE site_id = ANY($1) AND revoked_at_ms IS NULL GROUP BY site_id`,
      [siteIds],
    ),
    sql.all<Counted & { row_count: number }>(
      `SELECT site_id, COUNT(*) AS count, SUM(row_count) AS row_count FROM gap
       WHERE site_id = ANY($1) GROUP BY site_id`,
      [siteIds],
    ),
    sql.all<Counted>('SELECT site_id, COUNT(*) AS count FROM quarantine WHERE site_id = ANY($1) GROUP BY site_id', [
      siteIds,
    ]),
    sql.all<AuditFigures & { site_id: string }>(
      `SELECT site_id, MAX(audited_at_ms) AS "auditedAtMs", SUM(row_count) AS rows,
         SUM(CASE WHEN missing_groups = 0 THEN row_count ELSE 0 END) AS confirmed,
         SUM(missing_groups) AS missing, SUM(extra_count) AS extra
       FROM audit WHERE site_id = ANY($1) GROUP BY site_id`,
      [siteIds],
    ),
    sql.all<SiteEpochRow>(
      `SELECT site_id, epoch, forked_from, reason, first_seen_ms, last_seen_ms FROM site_epoch
       WHERE site_id = ANY($1) ORDER BY first_seen_ms DESC, epoch`,
      [siteIds],
    ),
  ])
  const of = (siteId: string, take: (one: SiteFigures) => void): void => {
    const one = figures.get(siteId)
    if (one !== undefined) take(one)
  }
  for (const [siteId, count] of devices) of(siteId, (one) => Object.assign(one, { devices: count }))
  for (const row of keys) of(row.site_id, (one) => Object.assign(one, { keys: row.count }))
  for (const row of gaps) of(row.site_id, (one) => Object.assign(one, { gapCount: row.count, gapRows: row.row_count }))
  for (const row of quarantined) of(row.site_id, (one) => Object.assign(one, { quarantined: row.count }))
  for (const { site_id, ...audit } of audits) of(site_id, (one) => Object.assign(one, { audit }))
  for (const row of epochs) of(row.site_id, (one) => one.epochs.push(row))
  return figures
}
