import type { Hello, SyncCursors } from '#shared/wire/replication/sync.ts'
import { type CursorRow, cursorsOf } from './cursors.ts'
import type { Sql } from './database/database.ts'

/** True if another site has this epoch: a copied gateway was given the key of its own site. */
export async function isEpochOfAnother(sql: Sql, siteId: string, epoch: string): Promise<boolean> {
  const row = await sql.get('SELECT site_id FROM site_epoch WHERE epoch = $1 AND site_id <> $2 LIMIT 1', [
    epoch,
    siteId,
  ])
  return row !== undefined
}

/** Stores the epoch and returns true for a new one; its number of entities at the first hello does not change. */
export async function recordEpoch(
  sql: Sql,
  siteId: string,
  { epoch, forked_from, ends }: Pick<Hello, 'epoch' | 'forked_from' | 'ends'>,
  nowMs: number,
): Promise<boolean> {
  const inserted = await sql.run(
    `INSERT INTO site_epoch (site_id, epoch, forked_from, reason, first_seen_ms, last_seen_ms, entities_end)
       VALUES ($1, $2, $3, $4, $5, $5, $6) ON CONFLICT DO NOTHING`,
    [siteId, epoch, forked_from?.epoch ?? null, forked_from?.reason ?? null, nowMs, ends.entities],
  )
  return inserted > 0
}

/**
 * Returns the time when the hub first saw the epoch that followed this one, or another epoch than the one of a file;
 * undefined if this epoch is the newest.
 */
export async function supersededAt(
  sql: Sql,
  siteId: string,
  { epoch, exported_at_ms }: { epoch: string; exported_at_ms: number },
): Promise<number | undefined> {
  const row = await sql.get<{ atMs: number | null }>(
    `SELECT MIN(later.first_seen_ms) AS "atMs" FROM site_epoch later, site
      WHERE later.site_id = $1 AND site.site_id = $1 AND later.epoch <> $2
        AND (later.forked_from = $2
          OR (later.epoch = site.epoch AND site.last_hello_ms IS NOT NULL AND site.last_seen_ms > $3))`,
    [siteId, epoch, exported_at_ms],
  )
  return row?.atMs ?? undefined
}

/** Returns the number of entities of an epoch at its first hello. */
export async function entitiesEndOf(sql: Sql, siteId: string, epoch: string): Promise<number> {
  const row = await sql.get<{ end: number }>(
    'SELECT entities_end AS "end" FROM site_epoch WHERE site_id = $1 AND epoch = $2',
    [siteId, epoch],
  )
  return row?.end ?? 0
}

/** Stores the hello of this instance of a gateway, and its epoch; returns true for a new epoch. */
export async function recordHello(sql: Sql, siteId: string, hello: Hello, nowMs: number): Promise<boolean> {
  const { epoch, instance } = hello
  const isNew = await recordEpoch(sql, siteId, hello, nowMs)
  await sql.run(
    // later than all before it, whatever the clocks of several hubs
    `INSERT INTO site_instance (site_id, instance, epoch, first_seen_ms, last_seen_ms)
       SELECT $1, $2, $3, GREATEST(CAST($4 AS BIGINT), COALESCE(MAX(first_seen_ms) + 1, 0)), CAST($4 AS BIGINT)
         FROM site_instance WHERE site_id = $1 ON CONFLICT DO NOTHING`,
    [siteId, instance, epoch, nowMs],
  )
  // after a fork the same start continues as another epoch
  await sql.run('UPDATE site_instance SET epoch = $3 WHERE site_id = $1 AND instance = $2', [siteId, instance, epoch])
  await sql.run(
    `UPDATE site SET epoch = $2, program = $3, clock_offset_ms = $4, is_clock_trusted = $5,
            last_hello_ms = $6, last_seen_ms = $6 WHERE site_id = $1`,
    [siteId, epoch, hello.program, hello.clock_ms - nowMs, hello.clock_trusted, nowMs],
  )
  return isNew
}

/** Exceeds the number of starts of a gateway in any month. */
const MAX_INSTANCES = 1000

/** Deletes instances of gateways that ended long ago, or that many others have followed. */
export async function forgetInstances(sql: Sql, siteId: string, before: number): Promise<void> {
  await sql.run(
    `DELETE FROM site_instance WHERE site_id = $1 AND (last_seen_ms < $2 OR instance NOT IN
       (SELECT instance FROM site_instance WHERE site_id = $1 ORDER BY last_seen_ms DESC LIMIT $3))`,
    [siteId, before, MAX_INSTANCES],
  )
}

export interface Sender {
  readonly epoch: string
  readonly instance: string
}

export interface SenderState {
  readonly entitiesEnd: number
  readonly firstSeenMs: number
  /** May lag slightly: it is not written with every request. */
  readonly lastSeenMs: number
  /** Time when a newer instance that is still sending was first seen, or null. */
  readonly newerSinceMs: number | null
  readonly hasQuarantine: boolean
  /** Highest position that any erasure of this epoch reaches; null for none. */
  readonly telemetryErasedThrough: number | null
  readonly historyErasedThrough: number | null
  readonly cursors: SyncCursors
}

/** Returns undefined before its hello. Instances that have sent nothing since `aliveSinceMs` do not count. */
export async function findSender(
  sql: Sql,
  siteId: string,
  { epoch, instance }: Sender,
  aliveSinceMs: number,
): Promise<SenderState | undefined> {
  // one statement: each of many sites runs this query every few seconds
  const rows = await sql.all<SenderState & CursorRow>(
    `SELECT sync_cursor.stream, sync_cursor.seq, sync_cursor.hash,
            site_epoch.entities_end AS "entitiesEnd", site_instance.first_seen_ms AS "firstSeenMs",
            site_instance.last_seen_ms AS "lastSeenMs",
            (SELECT MIN(newer.first_seen_ms) FROM site_instance newer
              WHERE newer.site_id = $1 AND newer.first_seen_ms > site_instance.first_seen_ms
                AND newer.last_seen_ms > $4) AS "newerSinceMs",
            EXISTS (SELECT 1 FROM quarantine WHERE quarantine.site_id = $1) AS "hasQuarantine",
            (SELECT MAX(telemetry_through) FROM erasure
              WHERE erasure.site_id = $1 AND erasure.epoch = $2) AS "telemetryErasedThrough",
            (SELECT MAX(history_through) FROM erasure
              WHERE erasure.site_id = $1 AND erasure.epoch = $2) AS "historyErasedThrough"
       FROM site_epoch, site_instance, sync_cursor
      WHERE site_epoch.site_id = $1 AND site_epoch.epoch = $2
        AND site_instance.site_id = $1 AND site_instance.instance = $3
        AND sync_cursor.site_id = $1 AND sync_cursor.epoch = $2`,
    [siteId, epoch, instance, aliveSinceMs],
  )
  const [first] = rows
  return first === undefined ? undefined : { ...first, cursors: cursorsOf(rows) }
}

/** The API shows the time of the site, which its lock updates; those of epoch and instance may be this much older. */
const SEEN_EVERY_MS = 30_000

/** Stores the time at which this epoch and this instance of a gateway last sent something. */
export async function updateLastSeen(
  sql: Sql,
  siteId: string,
  sender: Sender,
  known: SenderState,
  nowMs: number,
): Promise<void> {
  if (Math.abs(nowMs - known.lastSeenMs) < SEEN_EVERY_MS) return
  await sql.run('UPDATE site_epoch SET last_seen_ms = $3 WHERE site_id = $1 AND epoch = $2', [
    siteId,
    sender.epoch,
    nowMs,
  ])
  await sql.run('UPDATE site_instance SET last_seen_ms = $3 WHERE site_id = $1 AND instance = $2', [
    siteId,
    sender.instance,
    nowMs,
  ])
}

/** Records an imported file, which reports the state when it was written; a gateway seen since keeps its later time. */
export async function recordFile(
  sql: Sql,
  siteId: string,
  { epoch, program, exported_at_ms }: { epoch: string; program: string; exported_at_ms: number },
): Promise<void> {
  await sql.run(
    `UPDATE site SET epoch = $2, program = $3, last_seen_ms = $4
      WHERE site_id = $1 AND (last_seen_ms IS NULL OR last_seen_ms < $4)`,
    [siteId, epoch, program, exported_at_ms],
  )
}

export async function recordTwoGateways(sql: Sql, siteId: string, nowMs: number): Promise<void> {
  await sql.run('UPDATE site SET two_gateways_ms = $2 WHERE site_id = $1', [siteId, nowMs])
}
