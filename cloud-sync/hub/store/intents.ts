import type { IntentKind, IntentResult } from '#shared/wire/replication/sync.ts'
import type { Database, Sql } from './database/database.ts'
import { inSite } from './sites.ts'

export interface WaitingIntent {
  readonly intentId: string
  readonly seq: number
  readonly kind: IntentKind
  readonly body: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly baseRev: string | null
}

/** Returns the intents after a position that have no result yet, in order. */
export async function waitingIntents(sql: Sql, siteId: string, after: number, limit: number): Promise<WaitingIntent[]> {
  return sql.all<WaitingIntent>(
    `SELECT intent_id AS "intentId", seq, kind, body, issued_at_ms AS "issuedAtMs",
            expires_at_ms AS "expiresAtMs", base_rev AS "baseRev"
       FROM intent WHERE site_id = $1 AND seq > $2 AND status = 'pending' ORDER BY seq LIMIT $3`,
    [siteId, after, limit],
  )
}

/** Like `waitingIntents`, for a response to the gateway: from now on it may have them, and they are not withdrawn. */
export function sendIntents(
  database: Database,
  siteId: string,
  after: number,
  limit: number,
): Promise<WaitingIntent[]> {
  return inSite(database, siteId, async (sql, site) => {
    const intents = await waitingIntents(sql, siteId, after, limit)
    const last = intents.at(-1)?.seq ?? 0
    if (last > site.intentsSent) await sql.run('UPDATE site SET intents_sent = $2 WHERE site_id = $1', [siteId, last])
    return intents
  })
}

/** Returns the number of the newest intent of each of these sites. */
export async function lastIntents(sql: Sql, siteIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql.all<{ siteId: string; seq: number }>(
    'SELECT site_id AS "siteId", intent_seq AS seq FROM site WHERE site_id = ANY($1)',
    [siteIds],
  )
  return new Map(rows.map(({ siteId, seq }) => [siteId, seq]))
}

/** Stores the intent after which the gateway requested more; returns the number of the newest intent. */
export async function recordIntentsAsked(database: Database, siteId: string, after: number): Promise<number> {
  const last = (await lastIntents(database, [siteId])).get(siteId) ?? 0
  if (after > last) return skipNumbers(database, siteId, after)
  await database.run('UPDATE site SET intents_after = $2 WHERE site_id = $1 AND intents_after <> $2', [siteId, after])
  return last
}

/**
 * Handles a gateway that has received intents unknown to this database, which is therefore an old copy. New and waiting
 * intents get numbers after those; a gateway recognises intents it has received by their id.
 */
function skipNumbers(database: Database, siteId: string, after: number): Promise<number> {
  return inSite(database, siteId, async (sql, site) => {
    let seq = Math.max(after, site.intentSeq)
    for (const { intentId } of await waitingIntents(sql, siteId, 0, Number.MAX_SAFE_INTEGER)) {
      seq++
      await sql.run('UPDATE intent SET seq = $3 WHERE site_id = $1 AND intent_id = $2', [siteId, intentId, seq])
    }
    await sql.run('UPDATE site SET intent_seq = $2, intents_after = $3 WHERE site_id = $1', [siteId, seq, after])
    return seq
  })
}

/** Stores the result of an intent, also of one that was withdrawn too late; the first result stays. */
export async function finishIntent(
  sql: Sql,
  siteId: string,
  { intent_id, status, reason }: IntentResult,
  atMs: number,
): Promise<void> {
  if (status === 'pending') return
  await sql.run(
    `UPDATE intent SET status = $3, reason = $4, finished_at_ms = $5
      WHERE site_id = $1 AND intent_id = $2 AND status IN ('pending', 'withdrawn')`,
    [siteId, intent_id, status, reason, atMs],
  )
}
