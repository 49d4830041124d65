import type { Sql } from '#hub/store/database/database.ts'
import { type EntityRow, putEntities } from '#hub/store/entities.ts'
import { type EventRow, insertEvents, knownEvents } from '#hub/store/events.ts'
import {
  type EntitySyncRow,
  entityRowSchema,
  geofenceEventRowSchema,
  lockEventRowSchema,
  type NoteSyncRow,
  noteRowSchema,
} from '#shared/wire/sync.ts'
import { applyNote, checkNote } from './apply-notes.ts'
import { type BadRow, badRow, type GoodRow, readRows } from './synced-rows.ts'

export interface RowsTarget {
  readonly siteId: string
  readonly epoch: string
  readonly nowMs: number
  readonly isResend: boolean
}

/** Keeps the rows of a part; returns those that cannot be kept. */
export async function applyRows(
  sql: Sql,
  stream: 'notes' | 'lock_events' | 'geofence_events' | 'entities',
  rows: readonly unknown[],
  target: RowsTarget,
): Promise<BadRow[]> {
  if (stream === 'entities') return applyEntities(sql, rows, target)
  if (stream === 'notes') return applyNotes(sql, rows, target)
  const schema = stream === 'lock_events' ? lockEventRowSchema : geofenceEventRowSchema
  const { good, bad } = readRows<{ event_id: string; hardware_id: string; at_ms: number }>(schema, rows)
  const events = good.map(
    ({ row, body }): EventRow => ({
      eventId: row.event_id,
      hardwareId: row.hardware_id,
      atMs: row.at_ms,
      body,
    }),
  )
  await insertEvents(sql, target.siteId, stream, events, target.nowMs)
  return bad
}

async function applyNotes(sql: Sql, rows: readonly unknown[], target: RowsTarget): Promise<BadRow[]> {
  const { good, bad } = readRows<NoteSyncRow>(noteRowSchema, rows)
  const readable: GoodRow<NoteSyncRow>[] = []
  for (const each of good) {
    const problem = checkNote(each.row)
    if (problem === undefined) readable.push(each)
    else bad.push(badRow(each.row, problem))
  }
  const ids = readable.map(({ row }) => row.note_id)
  const known = await knownEvents(sql, target.siteId, 'notes', ids)
  for (const { row } of readable) {
    await applyNote(sql, row, { ...target, isKnown: known.has(row.note_id) })
    known.add(row.note_id)
  }
  const events = readable.map(
    ({ row, body }): EventRow => ({ eventId: row.note_id, hardwareId: '', atMs: row.at_ms, body }),
  )
  await insertEvents(sql, target.siteId, 'notes', events, target.nowMs)
  return bad
}

async function applyEntities(
  sql: Sql,
  rows: readonly unknown[],
  { siteId, epoch }: RowsTarget,
): Promise<BadRow[]> {
  const { good, bad } = readRows<EntitySyncRow>(entityRowSchema, rows)
  const newest = new Map<string, EntityRow>()
  for (const { row } of good) {
    const { table, key, seq, body } = row
    newest.set(JSON.stringify([table, key]), {
      table,
      key,
      seq,
      body: body === null ? null : JSON.stringify(body),
    })
  }
  await putEntities(sql, siteId, epoch, [...newest.values()])
  return bad
}
