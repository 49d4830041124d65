import { type NewAuditEntry, putAuditEntries } from '#hub/store/audit-log.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { type EntityRow, putEntities } from '#hub/store/entities.ts'
import { type EventRow, insertEvents, knownEvents, redactLockEvents } from '#hub/store/events.ts'
import { finishIntent } from '#hub/store/intents.ts'
import { insertGap } from '#hub/store/site-losses.ts'
import { eraseRecords, insertErasure } from '#hub/store/telemetry/erasures.ts'
import { describeError } from '#shared/errors.ts'
import {
  auditEntryBodySchema,
  type EntitySyncRow,
  entityBodySchema,
  entityRowSchema,
  eraseSchema,
  gapSchema,
  geofenceEventRowSchema,
  intentResultSchema,
  lockEventRowSchema,
  type NoteSyncRow,
  noteRowSchema,
} from '#shared/wire/replication/sync.ts'
import { blankSchema } from '#shared/wire/schema/blanks.ts'
import { badRow, type InvalidRow, isStorable, readRows, type ValidRow } from './synced-rows.ts'

export interface RowsTarget {
  readonly siteId: string
  readonly epoch: string
  readonly nowMs: number
  readonly isResend: boolean
  /** True if the site has a newer epoch, which defines its entities; entries of the audit log stay unchanged. */
  readonly isPast: boolean
  /** True if records that a note erases are archived. */
  readonly keepsErased: boolean
}

/** Stores the rows of a part; returns those that it cannot store. */
export async function applyRows(
  sql: Sql,
  stream: 'notes' | 'lock_events' | 'geofence_events' | 'entities',
  rows: readonly unknown[],
  target: RowsTarget,
): Promise<InvalidRow[]> {
  if (stream === 'entities') return applyEntities(sql, rows, target)
  if (stream === 'notes') return applyNotes(sql, rows, target)
  const schema = stream === 'lock_events' ? lockEventRowSchema : geofenceEventRowSchema
  const { good, bad } = readRows<{ event_id: string; hardware_id: string; at_ms: number; seq: number }>(schema, rows)
  const events = good.map(
    ({ row, body }): EventRow => ({
      eventId: row.event_id,
      hardwareId: row.hardware_id,
      atMs: row.at_ms,
      seq: row.seq,
      body,
    }),
  )
  await insertEvents(sql, target.siteId, stream, events, target.nowMs)
  return bad
}

async function applyNotes(sql: Sql, rows: readonly unknown[], target: RowsTarget): Promise<InvalidRow[]> {
  const { good, bad } = readRows<NoteSyncRow>(noteRowSchema, rows)
  const readable: ValidRow<NoteSyncRow>[] = []
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
    ({ row, body }): EventRow => ({
      eventId: row.note_id,
      hardwareId: '',
      atMs: row.at_ms,
      seq: row.seq,
      body,
    }),
  )
  await insertEvents(sql, target.siteId, 'notes', events, target.nowMs)
  return bad
}

async function applyEntities(
  sql: Sql,
  rows: readonly unknown[],
  { siteId, epoch, isPast }: RowsTarget,
): Promise<InvalidRow[]> {
  const { good, bad } = readRows<EntitySyncRow>(entityRowSchema, rows)
  const entries: NewAuditEntry[] = []
  const newest = new Map<string, EntityRow>()
  for (const { row } of good) {
    const { table, key, seq, body } = row
    const parsed = body === null ? undefined : entityBodySchema(table)?.safeParse(body)
    if (parsed?.success === false) {
      bad.push(badRow(row, describeError(parsed.error)))
      continue
    }
    if (table === 'audit_entry') {
      // an entry reported as deleted stays until its retention time has passed
      if (body === null) continue
      const { at_ms: atMs, user_id: userId, action } = auditEntryBodySchema.parse(body)
      if (isStorable(`${userId} ${action}`))
        entries.push({ entryId: key, seq, atMs, userId, action, body: JSON.stringify(body) })
      else bad.push(badRow(row, 'a text no database can hold'))
      continue
    }
    newest.set(JSON.stringify([table, key]), {
      table,
      key,
      seq,
      body: body === null ? null : JSON.stringify(body),
    })
  }
  await putAuditEntries(sql, { siteId, epoch, isPast }, entries)
  if (!isPast) await putEntities(sql, siteId, epoch, [...newest.values()])
  return bad
}

const BODIES = {
  gap: gapSchema,
  erase: eraseSchema,
  blank: blankSchema,
  intent_result: intentResultSchema,
} as const

/** Returns the reason why a note of a known kind cannot be applied. */
function checkNote({ kind, body }: NoteSyncRow): string | undefined {
  if (!isKnownKind(kind)) return undefined
  const parsed = BODIES[kind].safeParse(body)
  return parsed.success ? undefined : describeError(parsed.error)
}

/** Applies a note. After a fork notes arrive again; a known one was applied, and new data may have arrived since. */
async function applyNote(
  sql: Sql,
  note: NoteSyncRow,
  { siteId, epoch, nowMs, isResend, isKnown, keepsErased }: RowsTarget & { readonly isKnown: boolean },
): Promise<void> {
  const { note_id, kind, at_ms, body } = note
  if (kind === 'gap' && !isKnown) await insertGap(sql, siteId, note_id, gapSchema.parse(body), at_ms)
  if (kind === 'intent_result' && !isKnown) {
    await finishIntent(sql, siteId, intentResultSchema.parse(body), at_ms)
  }
  if (kind === 'blank') await redactLockEvents(sql, siteId, blankSchema.parse(body).lock_events)
  if (kind !== 'erase') return
  const erase = eraseSchema.parse(body)
  // also for a new epoch: its database continues the positions of the earlier one
  await insertErasure(sql, siteId, epoch, note_id, erase, { atMs: at_ms, nowMs })
  if (isKnown) return
  const erased = { hardwareId: erase.hardware_id, streams: erase.kinds }
  // a note that an audit sends again may arrive after newer data
  await eraseRecords(sql, siteId, erased, {
    throughMs: isResend ? at_ms : undefined,
    archive: keepsErased ? { noteId: note_id, nowMs } : undefined,
  })
}

function isKnownKind(kind: string): kind is keyof typeof BODIES {
  return Object.hasOwn(BODIES, kind)
}
