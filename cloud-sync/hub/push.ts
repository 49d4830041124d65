import { AppError } from '../../shared/errors.ts'
import type { Clock } from '../../shared/time.ts'
import type { Push, PushAnswer, SyncCursor, SyncCursors, SyncStream } from '../../shared/wire/sync.ts'
import { applyRows } from './apply-rows.ts'
import { applyTelemetry } from './apply-telemetry.ts'
import { CursorConflictError } from './cursor-conflict.ts'
import { type CheckedPart, checkPart } from './part-content.ts'
import { meetSender, warningsFor } from './senders.ts'
import { moveCursor, readCursors } from './store/cursors.ts'
import type { Database, Sql } from './store/database.ts'
import { deleteEarlierEntities } from './store/entities.ts'
import { insertQuarantine, type QuarantinedPiece } from './store/quarantine.ts'
import { inSite } from './store/sites.ts'
import { LIMITS } from './sync-limits.ts'

/** Takes parts, all of them or none. Throws what is wrong with them, or `cursor` when they do not fit. */
export async function takeParts(
  { database, clock }: { database: Database; clock: Clock },
  siteId: string,
  push: Push,
): Promise<PushAnswer> {
  if (push.parts.length > LIMITS.parts) {
    throw new AppError('payload_too_large', 'payload_too_large', `a push may have ${LIMITS.parts} parts`)
  }
  const parts = push.parts.map(checkPart)
  const { epoch } = push
  return inSite(database, siteId, async (sql, site) => {
    const nowMs = clock.nowMs()
    const sender = await meetSender(sql, site, push, nowMs)
    const acked = await moveAndApply(sql, { siteId, epoch, nowMs }, parts, sender.entitiesEnd)
    return {
      acked,
      limits: LIMITS,
      intents_waiting: site.intentSeq > site.intentsAfter,
      warnings: await warningsFor(sql, site, sender.isOneOfTwo, nowMs),
    }
  })
}

/**
 * Takes parts that were checked, inside a transaction that has the site; returns where their streams are then. Throws
 * `cursor` when one does not begin where its stream is.
 */
export async function moveAndApply(
  sql: Sql,
  target: { siteId: string; epoch: string; nowMs: number },
  parts: readonly CheckedPart[],
  entitiesEnd: number,
): Promise<Partial<SyncCursors>> {
  const { siteId, epoch, nowMs } = target
  const cursors = await readCursors(sql, siteId, epoch)
  const moves = planMoves(parts, cursors)
  for (const [stream, { to, rows }] of moves) {
    const move = { stream, from: cursors[stream], to, rows }
    if (!(await moveCursor(sql, { siteId, epoch }, move, nowMs))) throw conflict(cursors)
  }
  await applyParts(sql, target, parts)
  const entities = moves.get('entities')
  if (entities !== undefined && reaches(entities.to.seq, cursors.entities.seq, entitiesEnd)) {
    await deleteEarlierEntities(sql, siteId, epoch)
  }
  return Object.fromEntries([...moves].map(([stream, { to }]) => [stream, to]))
}

interface Move {
  to: SyncCursor
  rows: number
}

/** Where each stream will be. Throws when a part does not begin where its stream is by then. */
function planMoves(parts: readonly CheckedPart[], cursors: SyncCursors): Map<SyncStream, Move> {
  const moves = new Map<SyncStream, Move>()
  for (const { part } of parts) {
    if (part.is_resend === true) continue
    const move = moves.get(part.stream)
    const at = move?.to ?? cursors[part.stream]
    if (part.from !== at.seq || part.prev_hash !== at.hash) throw conflict(cursors)
    moves.set(part.stream, { to: { seq: part.to, hash: part.hash }, rows: (move?.rows ?? 0) + part.count })
  }
  return moves
}

async function applyParts(
  sql: Sql,
  { siteId, epoch, nowMs }: { siteId: string; epoch: string; nowMs: number },
  parts: readonly CheckedPart[],
): Promise<void> {
  const quarantined: QuarantinedPiece[] = []
  for (const { part, data, content } of parts) {
    const { stream, from, to } = part
    if (content.type === 'unreadable') {
      quarantined.push({ stream, from, to, reason: content.reason, body: data })
    } else if (content.type !== 'rows') {
      await applyTelemetry(sql, siteId, epoch, part, content, nowMs)
    } else if (stream !== 'telemetry' && stream !== 'history') {
      const target = { siteId, epoch, nowMs, isResend: part.is_resend === true }
      const bad = await applyRows(sql, stream, content.rows, target)
      for (const { reason, body } of bad) quarantined.push({ stream, from, to, reason, body })
    }
  }
  await insertQuarantine(sql, siteId, epoch, quarantined, nowMs)
}

function reaches(seq: number, before: number, end: number): boolean {
  return seq >= end && (before < end || end === 0)
}

function conflict(cursors: SyncCursors): CursorConflictError {
  return new CursorConflictError('cursor', 'the parts do not begin where the streams are', cursors)
}
