import { fromE7 } from '#shared/geo.ts'
import type { Connection } from '../db/connection.ts'
import type { SentRow } from './part.ts'

/** Streams of rows that are written once. */
export type EventStream = 'notes' | 'lock_events' | 'geofence_events'

/** Row in the form in which a hub gets it. */
export interface SyncEvent {
  readonly seq: number
  readonly atMs: number
  /** Hardware id of the device; '' for a note. */
  readonly group: string
  /** JSON of the row without `seq`; always the same for the same row. */
  readonly text: string
}

/** Position among the rows of a day, in order of time. */
export interface EventPlace {
  readonly atMs: number
  readonly seq: number
}

/** Range of rows of a day, including its last millisecond; of one group only if given. */
export interface EventRange {
  readonly fromMs: number
  readonly toMs: number
  readonly group: string | null
  /** Null for the beginning. */
  readonly after: EventPlace | null
  readonly limit: number
}

type Stored = { seq: number; at_ms: number }
type Row = Record<string, unknown>

interface EventTable {
  readonly table: string
  readonly columns: string
  /** Column of `SyncEvent.group`. */
  readonly groupColumn: string | null
  /** Converts a row to the field order of its schema in shared/wire/replication/sync.ts, without `seq`. */
  toJson(stored: Row): Row
}

const EVENTS: Record<EventStream, EventTable> = {
  notes: {
    table: 'note',
    columns: 'seq, note_id, kind, at_ms, body',
    groupColumn: null,
    toJson: ({ note_id, kind, at_ms, body }) => ({ note_id, kind, at_ms, body: parsed(body) }),
  },
  lock_events: {
    table: 'lock_event',
    columns: 'seq, event_id, hardware_id, short_id, event, source, at_ms, code, command_id, metadata',
    groupColumn: 'hardware_id',
    toJson: ({ event_id, hardware_id, short_id, event, source, at_ms, code, command_id, metadata }) => ({
      event_id,
      hardware_id,
      event,
      source,
      at_ms,
      code,
      command_id,
      metadata: parsed(metadata),
      ...byRegistration(short_id),
    }),
  },
  geofence_events: {
    table: 'geofence_event',
    columns:
      'seq, event_id, hardware_id, short_id, event, group_id, zone_id, zone_name, zone_type, at_ms, lat_e7, ' +
      'long_e7',
    groupColumn: 'hardware_id',
    toJson: ({ event_id, hardware_id, event, group_id, zone_id, zone_name, zone_type, at_ms, ...at }) => ({
      event_id,
      hardware_id,
      event,
      group_id,
      zone_id,
      zone_name,
      zone_type,
      at_ms,
      lat: fromE7(Number(at.lat_e7)),
      long: fromE7(Number(at.long_e7)),
      ...byRegistration(at.short_id),
    }),
  },
}

export function sentEvent({ seq, atMs, text }: SyncEvent): SentRow {
  return { seq, atMs, text: `{"seq":${seq},${text.slice(1)}` }
}

export function eventsAfter(connection: Connection, stream: EventStream, after: number, limit: number): SyncEvent[] {
  const { table, columns } = EVENTS[stream]
  // `+?`: see block-rows.ts
  const sql = `SELECT ${columns} FROM ${table} WHERE seq > +? ORDER BY seq LIMIT +?`
  const rows = connection.statement<Stored & Row>(sql).all(after, limit)
  return rows.map((stored) => toEvent(stream, stored))
}

/** Next rows of a day, oldest first. */
export function eventsOfDay(connection: Connection, stream: EventStream, range: EventRange): SyncEvent[] {
  const { table, columns, groupColumn } = EVENTS[stream]
  const { fromMs, toMs, group, after, limit } = range
  const ofGroup = group === null || groupColumn === null ? '' : `${groupColumn} = +? AND`
  const values = ofGroup === '' ? [] : [group]
  const rows = connection
    .statement<Stored & Row>(
      `SELECT ${columns} FROM ${table}
       WHERE ${ofGroup} (at_ms, seq) > (+?, +?) AND at_ms <= +? ORDER BY at_ms, seq LIMIT +?`,
    )
    .all(...values, after?.atMs ?? fromMs, after?.seq ?? 0, toMs, limit)
  return rows.map((stored) => toEvent(stream, stored))
}

/** Time of the first row at or after `fromMs`; null if none exists. */
export function nextEventMs(connection: Connection, stream: EventStream, fromMs: number): number | null {
  const sql = `SELECT at_ms AS atMs FROM ${EVENTS[stream].table} WHERE at_ms >= +? ORDER BY at_ms LIMIT 1`
  return connection.get<{ atMs: number }>(sql, fromMs)?.atMs ?? null
}

function toEvent(stream: EventStream, stored: Stored & Row): SyncEvent {
  const { groupColumn, toJson } = EVENTS[stream]
  const group = groupColumn === null ? '' : String(stored[groupColumn])
  return { seq: stored.seq, atMs: stored.at_ms, group, text: JSON.stringify(toJson(stored)) }
}

// A row from before the column existed must stay as it was sent, because the hub compares its text.
function byRegistration(shortId: unknown): Row {
  return shortId === null ? {} : { short_id: shortId }
}

function parsed(json: unknown): unknown {
  return typeof json === 'string' ? JSON.parse(json) : null
}
