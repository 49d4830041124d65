import { blankStrings } from '#shared/blank-strings.ts'
import type { BlankedEvent } from '#shared/wire/schema/blanks.ts'
import type { Sql } from './database/database.ts'
import { inChunks, insertRows } from './database/insert-rows.ts'

export type EventStream = 'lock_events' | 'geofence_events' | 'notes'

export interface EventRow {
  readonly eventId: string
  /** '' for notes. */
  readonly hardwareId: string
  readonly atMs: number
  /** Position in the stream of its epoch. */
  readonly seq: number
  /** JSON of the row as received, without its position. */
  readonly body: string
}

/** Returns the events among these that the hub already has. */
export async function knownEvents(
  sql: Sql,
  siteId: string,
  stream: EventStream,
  eventIds: readonly string[],
): Promise<Set<string>> {
  const known = new Set<string>()
  for (const some of inChunks(eventIds)) {
    const rows = await sql.all<{ eventId: string }>(
      'SELECT event_id AS "eventId" FROM event WHERE site_id = $1 AND stream = $2 AND event_id = ANY($3)',
      [siteId, stream, some],
    )
    for (const { eventId } of rows) known.add(eventId)
  }
  return known
}

export async function insertEvents(
  sql: Sql,
  siteId: string,
  stream: EventStream,
  rows: readonly EventRow[],
  nowMs: number,
): Promise<void> {
  await insertRows(
    sql,
    'event',
    ['site_id', 'stream', 'event_id', 'hardware_id', 'at_ms', 'received_at_ms', 'body', 'seq'],
    rows.map(({ eventId, hardwareId, atMs, seq, body }) => [
      siteId,
      stream,
      eventId,
      hardwareId,
      atMs,
      nowMs,
      body,
      seq,
    ]),
  )
}

/** Removes the fields that the site erased from lock events; those that the hub still lacks arrive without them. */
export async function redactLockEvents(sql: Sql, siteId: string, blanked: readonly BlankedEvent[]): Promise<void> {
  for (const event of blanked) {
    const known = await sql.get<{ body: string }>(
      "SELECT body FROM event WHERE site_id = $1 AND stream = 'lock_events' AND event_id = $2",
      [siteId, event.event_id],
    )
    if (known === undefined) continue
    const body: Record<string, unknown> = JSON.parse(known.body)
    const places = new Set(event.metadata.map((path) => JSON.stringify(path)))
    const metadata = blankStrings(body.metadata, (_, path) => places.has(JSON.stringify(path))).value
    const text = JSON.stringify({ ...body, ...(event.code ? { code: null } : {}), metadata })
    await sql.run("UPDATE event SET body = $3 WHERE site_id = $1 AND stream = 'lock_events' AND event_id = $2", [
      siteId,
      event.event_id,
      text,
    ])
  }
}

/** Returns the events between two times; the end is excluded. */
export async function eventsBetween(
  sql: Sql,
  siteId: string,
  stream: EventStream,
  fromMs: number,
  untilMs: number,
): Promise<{ hardwareId: string; atMs: number; body: string }[]> {
  return sql.all(
    `SELECT hardware_id AS "hardwareId", at_ms AS "atMs", body FROM event
      WHERE site_id = $1 AND stream = $2 AND at_ms >= $3 AND at_ms < $4`,
    [siteId, stream, fromMs, untilMs],
  )
}
