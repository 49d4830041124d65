import { ConflictError, NotFoundError } from '#shared/errors.ts'
import type { Latest } from '#shared/wire/replication/sync.ts'
import type { Database, Sql } from './database/database.ts'

/** State of a site that a transaction writing to it needs. */
export interface LockedSite {
  readonly siteId: string
  readonly intentSeq: number
  readonly intentsAfter: number
  readonly intentsSent: number
  readonly twoGatewaysMs: number | null
  /** Stored bytes, including those that this transaction adds at its beginning. */
  readonly storedBytes: number
}

const LOCKED = `site_id AS "siteId", intent_seq AS "intentSeq", intents_after AS "intentsAfter",
  intents_sent AS "intentsSent",  two_gateways_ms AS "twoGatewaysMs", stored_bytes AS "storedBytes"`

/**
 * Runs one transaction at a time for each site, across all hubs of a database: each takes this lock first, and no row
 * of a site is written without it.
 */
export function inSite<Result>(
  database: Database,
  siteId: string,
  work: (sql: Sql, site: LockedSite) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (sql) => {
    const site = await sql.get<LockedSite>(`SELECT ${LOCKED} FROM site WHERE site_id = $1 FOR UPDATE`, [siteId])
    if (site === undefined) throw siteNotFound(siteId)
    return work(sql, site)
  })
}

/** Report of a gateway on itself, sent with the states of its devices. */
export interface SiteReport {
  readonly backlog: Latest['backlog']
  /** Gateway clock minus hub clock. */
  readonly clockOffsetMs: number
}

/**
 * Like `inSite`, for a request of the gateway: the locking statement also stores the time, the bytes that the work will
 * add, and the gateway's report.
 */
export function inActiveSite<Result>(
  database: Database,
  siteId: string,
  { nowMs, ...report }: { nowMs: number } & (SiteReport | { backlog?: undefined; addedBytes?: number }),
  work: (sql: Sql, site: LockedSite) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (sql) => {
    const site =
      report.backlog === undefined
        ? await sql.get<LockedSite>(
            `UPDATE site SET last_seen_ms = $2, stored_bytes = stored_bytes + $3 WHERE site_id = $1
              RETURNING ${LOCKED}`,
            [siteId, nowMs, report.addedBytes ?? 0],
          )
        : await sql.get<LockedSite>(
            `UPDATE site SET last_seen_ms = $2, reported_ms = $2, backlog_rows = $3, backlog_oldest_ms = $4,
               unconfirmed_rows = $5, clock_offset_ms = $6 WHERE site_id = $1 RETURNING ${LOCKED}`,
            [siteId, nowMs, ...reportValues(report)],
          )
    if (site === undefined) throw siteNotFound(siteId)
    return work(sql, site)
  })
}

function reportValues({ backlog, clockOffsetMs }: SiteReport): (number | null)[] {
  // an older gateway compares without reporting it
  const { rows, oldest_ms, unconfirmed_rows = 0 } = backlog
  return [rows, oldest_ms, unconfirmed_rows, clockOffsetMs]
}

export function siteNotFound(siteId: string): NotFoundError {
  return new NotFoundError('site_not_found', `there is no site ${siteId}`)
}

export interface NewSite {
  readonly siteId: string
  readonly name: string
  readonly keyHash: string
  readonly nowMs: number
}

/** Throws `site_exists`. */
export async function insertSite(database: Database, { siteId, name, keyHash, nowMs }: NewSite): Promise<void> {
  await database.transaction(async (sql) => {
    const inserted = await sql.run(
      `INSERT INTO site (site_id, name, created_at_ms, intent_seq, intents_after) VALUES ($1, $2, $3, 0, 0)
         ON CONFLICT DO NOTHING`,
      [siteId, name, nowMs],
    )
    if (inserted === 0) throw new ConflictError('site_exists', `the site ${siteId} exists already`)
    await insertSiteKey(sql, siteId, keyHash, nowMs)
  })
}

/** Replaces all keys of a site, by one or by none. Returns the number that were in use. Throws `site_not_found`. */
export async function replaceSiteKeys(
  database: Database,
  siteId: string,
  keyHash: string | null,
  nowMs: number,
): Promise<number> {
  return inSite(database, siteId, async (sql) => {
    const revoked = await sql.run(
      'UPDATE site_key SET revoked_at_ms = $2 WHERE site_id = $1 AND revoked_at_ms IS NULL',
      [siteId, nowMs],
    )
    if (keyHash !== null) await insertSiteKey(sql, siteId, keyHash, nowMs)
    return revoked
  })
}

export interface SiteSummary {
  readonly siteId: string
  readonly name: string
  readonly createdAtMs: number
  readonly lastSeenMs: number | null
  /** Number of keys in use. */
  readonly keys: number
}

/** Lists all sites, by id. */
export async function listSites(sql: Sql): Promise<SiteSummary[]> {
  return sql.all<SiteSummary>(
    `SELECT site.site_id AS "siteId", name, created_at_ms AS "createdAtMs", last_seen_ms AS "lastSeenMs",
            (SELECT COUNT(*) FROM site_key WHERE site_key.site_id = site.site_id AND revoked_at_ms IS NULL) AS keys
       FROM site ORDER BY site.site_id`,
  )
}

export async function siteKeyState(sql: Sql, siteId: string, keyHash: string): Promise<'good' | 'revoked' | 'unknown'> {
  const row = await sql.get<{ revokedAtMs: number | null }>(
    'SELECT revoked_at_ms AS "revokedAtMs" FROM site_key WHERE site_id = $1 AND key_hash = $2',
    [siteId, keyHash],
  )
  if (row === undefined) return 'unknown'
  return row.revokedAtMs === null ? 'good' : 'revoked'
}

/** Returns the hashes of all keys that any site has or had. */
export async function allSiteKeys(sql: Sql): Promise<string[]> {
  const rows = await sql.all<{ keyHash: string }>('SELECT key_hash AS "keyHash" FROM site_key')
  return rows.map(({ keyHash }) => keyHash)
}

async function insertSiteKey(sql: Sql, siteId: string, keyHash: string, nowMs: number): Promise<void> {
  await sql.run('INSERT INTO site_key (site_id, key_hash, created_at_ms) VALUES ($1, $2, $3)', [siteId, keyHash, nowMs])
}
