import type { SiteIntentStatus } from '#shared/wire/replication/site-intents.ts'
import type { IntentKind } from '#shared/wire/replication/sync.ts'
import type { ListOrder } from '#shared/wire/schema/params.ts'
import type { Database, Sql } from './database/database.ts'
import { inSite } from './sites.ts'

/** Change that the hub requests from a site, and its result. */
export interface IntentRow {
  site_id: string
  intent_id: string
  seq: number
  kind: IntentKind
  body: string
  issued_at_ms: number
  expires_at_ms: number
  base_rev: string | null
  requested_by: string
  status: SiteIntentStatus
  reason: string | null
  finished_at_ms: number | null
  /** True if the gateway has this one, or may have it: a response with it went out. */
  is_fetched: boolean
}

export interface NewIntent {
  readonly siteId: string
  readonly intentId: string
  readonly kind: IntentKind
  readonly body: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly baseRev: string | null
  readonly requestedBy: string
}

// before `intents_sent` was stored, only what the gateway asked for was known
const IS_FETCHED = '(seq <= site.intents_after OR seq <= site.intents_sent)'
const COLUMNS = `intent.site_id, intent_id, seq, kind, body, issued_at_ms, expires_at_ms, base_rev, requested_by,
  status,
  reason, finished_at_ms, ${IS_FETCHED} AS is_fetched`
const FROM = 'FROM intent JOIN site ON site.site_id = intent.site_id'

/** Stores an intent with the next number of its site. Throws `site_not_found`. */
export function insertIntent(database: Database, intent: NewIntent): Promise<void> {
  const { siteId, intentId, kind, body, issuedAtMs, expiresAtMs, baseRev, requestedBy } = intent
  return inSite(database, siteId, async (sql, site) => {
    const seq = site.intentSeq + 1
    await sql.run('UPDATE site SET intent_seq = $2 WHERE site_id = $1', [siteId, seq])
    await sql.run(
      `INSERT INTO intent (site_id, intent_id, seq, kind, body, issued_at_ms, expires_at_ms, base_rev, requested_by,
         status, reason, finished_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', NULL, NULL)`,
      [siteId, intentId, seq, kind, body, issuedAtMs, expiresAtMs, baseRev, requestedBy],
    )
  })
}

export function findIntent(sql: Sql, siteId: string, intentId: string): Promise<IntentRow | undefined> {
  return sql.get<IntentRow>(`SELECT ${COLUMNS} ${FROM} WHERE intent.site_id = $1 AND intent_id = $2`, [
    siteId,
    intentId,
  ])
}

export interface IntentQuery {
  readonly status: SiteIntentStatus | undefined
  readonly kind: IntentKind | undefined
  readonly nowMs: number
  readonly order: ListOrder
  readonly limit: number
  readonly offset: number
}

/** Lists intents by creation. One that was not fetched in time counts as expired, although its row is pending. */
export function listIntents(sql: Sql, siteId: string, query: IntentQuery): Promise<IntentRow[]> {
  const { status, kind, nowMs, order, limit, offset } = query
  return sql.all<IntentRow>(
    `SELECT ${COLUMNS} ${FROM} WHERE intent.site_id = $1
       AND (CAST($2 AS TEXT) IS NULL OR kind = $2)
       AND (CAST($3 AS TEXT) IS NULL OR $3 =
         CASE WHEN status = 'pending' AND expires_at_ms < $4 AND NOT ${IS_FETCHED} THEN 'expired' ELSE status
         END)
     ORDER BY seq ${order} LIMIT $5 OFFSET $6`,
    [siteId, kind ?? null, status ?? null, nowMs, limit, offset],
  )
}

/** Withdraws an intent that the gateway has not fetched; returns false if it is too late. */
export function withdrawIntent(database: Database, siteId: string, intentId: string, nowMs: number): Promise<boolean> {
  return inSite(database, siteId, async (sql, site) => {
    const changed = await sql.run(
      `UPDATE intent SET status = 'withdrawn', finished_at_ms = $3
       WHERE site_id = $1 AND intent_id = $2 AND status = 'pending' AND seq > $4`,
      [siteId, intentId, nowMs, Math.max(site.intentsAfter, site.intentsSent)],
    )
    return changed > 0
  })
}
