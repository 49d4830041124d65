import type Database from 'better-sqlite3'
import type { SyncFindings } from './findings.ts'
import type { HubSite } from './telemetry-check.ts'

interface Cursor {
  stream: string
  seq: number
  hash: string
}

/** Compares the cursors of both sides, and checks the hub's quarantine and counts. */
export async function checkCursors(
  { sql, siteId }: HubSite,
  gateway: Database.Database,
  findings: SyncFindings,
): Promise<void> {
  const identity = gateway
    .prepare<[], { epoch: string; site: string | null }>('SELECT epoch, site FROM sync_identity')
    .get()
  if (identity?.site !== siteId) findings.note('cursors', `the gateway is of site ${identity?.site}`)
  const here = gateway.prepare<[], Cursor>('SELECT stream, seq, hash FROM sync_cursor').all()
  const there = await sql.all<Cursor>('SELECT stream, seq, hash FROM sync_cursor WHERE site_id = $1 AND epoch = $2', [
    siteId,
    identity?.epoch ?? '',
  ])
  const known = new Map(here.map(({ stream, seq, hash }) => [stream, `${seq} ${hash}`]))
  for (const { stream, seq, hash } of there) {
    const text = `${seq} ${hash}`
    if (seq > 0 && known.get(stream) !== text)
      findings.note('cursors', `${stream}: ${text} at the hub, ${known.get(stream)} at the gateway`)
    known.delete(stream)
  }
  for (const [stream, text] of known) {
    if (!text.startsWith('0 ')) findings.note('cursors', `${stream}: ${text} at the gateway only`)
  }
  // each event counts once, even if its response was lost; a new epoch sends it again
  const counted = await sql.all<{ stream: string; taken: number; events: number }>(
    `SELECT stream, row_count AS taken, (SELECT COUNT(*) FROM event
       WHERE event.site_id = sync_cursor.site_id AND event.stream = sync_cursor.stream) AS events
     FROM sync_cursor WHERE site_id = $1 AND epoch = $2
       AND stream IN ('notes', 'lock_events', 'geofence_events')
       AND (SELECT COUNT(*) FROM site_epoch WHERE site_epoch.site_id = $1) = 1`,
    [siteId, identity?.epoch ?? ''],
  )
  for (const { stream, taken, events } of counted) {
    if (taken !== events) findings.note('counts', `${stream}: ${taken} counted, ${events} stored`)
  }
  const quarantined = await sql.all<{ stream: string; reason: string }>(
    'SELECT stream, reason FROM quarantine WHERE site_id = $1',
    [siteId],
  )
  for (const { stream, reason } of quarantined) findings.note('quarantined', `${stream}: ${reason}`)
}
