import { countResent } from '#hub/store/audit-resends.ts'
import { moveCursor, totalOf } from '#hub/store/cursors.ts'
import type { Database, Sql } from '#hub/store/database/database.ts'
import { deleteEarlierEntities } from '#hub/store/entities.ts'
import { insertQuarantine, type QuarantinedItem, quarantineSize } from '#hub/store/quarantine.ts'
import { inActiveSite } from '#hub/store/sites.ts'
import { storedBytesOf } from '#hub/store/stored-bytes.ts'
import { AppError, InvalidRequestError } from '#shared/errors.ts'
import { type Clock, DAY_MS } from '#shared/time.ts'
import type { AuditKind, Push, PushAnswer, SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import { applyRows } from './apply-rows.ts'
import { applyTelemetry, type Erased, EVERYTHING } from './apply-telemetry.ts'
import { advertisedLimits, CursorConflictError } from './hello.ts'
import type { CheckedPart, PartContent } from './part-content.ts'
import type { PartDecoder } from './part-decoder.ts'
import { chunksFault, keptBytes, sizeFault, tooLarge } from './part-sizes.ts'
import { registerSender, warningsFor } from './senders.ts'
import type { SiteBudgets } from './site-budgets.ts'

export interface PushDeps {
  readonly database: Database
  readonly clock: Clock
  readonly decoder: PartDecoder
  readonly budgets: SiteBudgets
  /** Receives the new position of an epoch's cursors after the commit. */
  readonly continuity: { moved(to: { siteId: string; epoch: string; total: number }): void }
  /** True if data erased by a site is archived for a time. */
  readonly keepsErased: boolean
}

/**
 * Applies all parts or none, within the site's slot. Throws the reason why a part is invalid, `payload_too_large`,
 * `rate_limited`, `site_full`, `quarantine_full`, or `cursor` if they do not continue at the cursors.
 */
export async function applyBatches(deps: PushDeps, siteId: string, push: Push): Promise<PushAnswer> {
  const { budgets } = deps
  const fault = sizeFault(push.parts)
  if (fault !== undefined) throw budgets.refusal('push_too_large', tooLarge(fault))
  try {
    return await budgets.inTurn(siteId, () => takeInTurn(deps, siteId, push))
  } catch (error) {
    if (error instanceof AppError && error.code === 'quarantine_full') budgets.refused.add('quarantine_full')
    throw error
  }
}

async function takeInTurn(
  { database, clock, decoder, budgets, continuity, keepsErased }: PushDeps,
  siteId: string,
  push: Push,
): Promise<PushAnswer> {
  budgets.spendRecords(
    siteId,
    push.parts.reduce((sum, { count }) => sum + count, 0),
  )
  const streams = push.parts.map(({ stream }) => stream)
  budgets.requireRoom(await storedBytesOf(database, siteId), streams)
  const parts = await decoder.check(push.parts)
  const fault = chunksFault(parts)
  if (fault !== undefined) throw budgets.refusal('push_too_large', tooLarge(fault))
  const { epoch } = push
  const nowMs = clock.nowMs()
  const addedBytes = keptBytes(parts)
  const { answer, total } = await inActiveSite(database, siteId, { nowMs, addedBytes }, async (sql, site) => {
    // other pushes of this site may have been stored meanwhile; a push that begins with room is applied as a whole
    budgets.requireRoom(site.storedBytes - addedBytes, streams)
    const sender = await registerSender(sql, site, push, nowMs)
    const target = { siteId, epoch, nowMs, keepsErased }
    const { acked, quarantined } = await advanceAndApply(sql, target, parts, sender)
    const hasQuarantine = sender.hasQuarantine || quarantined > 0
    const answer = {
      acked,
      limits: advertisedLimits(budgets),
      intents_waiting: site.intentSeq > site.intentsAfter,
      warnings: warningsFor(site, { ...sender, hasQuarantine }, nowMs),
    }
    return { answer, total: totalOf({ ...sender.cursors, ...acked }) }
  })
  continuity.moved({ siteId, epoch, total })
  return answer
}

export interface KnownEpoch extends Erased {
  readonly entitiesEnd: number
  /** Read in the same transaction. */
  readonly cursors: SyncCursors
}

export interface PartsTarget {
  readonly siteId: string
  readonly epoch: string
  readonly nowMs: number
  readonly keepsErased: boolean
  /** True if the site has a newer epoch, which defines its entities. */
  readonly isPast?: boolean
}

/**
 * Applies checked parts inside a transaction that holds the lock of the site; returns the new cursors. Throws `cursor`
 * if a part does not continue at the cursor of its stream.
 */
export async function advanceAndApply(
  sql: Sql,
  target: PartsTarget,
  parts: readonly CheckedPart[],
  { entitiesEnd, cursors, ...erased }: KnownEpoch,
): Promise<{ acked: Partial<SyncCursors>; quarantined: number }> {
  const { siteId, epoch, nowMs } = target
  const moves = planMoves(parts, cursors)
  for (const [stream, { to, rows }] of moves) {
    const move = { stream, from: cursors[stream], to, rows }
    if (!(await moveCursor(sql, { siteId, epoch }, move, nowMs))) throw conflict(cursors)
  }
  const quarantined = await applyParts(sql, target, parts, erased)
  const entities = moves.get('entities')
  if (entities !== undefined && target.isPast !== true && reaches(entities.to.seq, cursors.entities.seq, entitiesEnd)) {
    await deleteEarlierEntities(sql, siteId, epoch)
  }
  return { acked: Object.fromEntries([...moves].map(([stream, { to }]) => [stream, to])), quarantined }
}

interface Move {
  to: SyncCursor
  rows: number
}

/** Returns the new cursor of each stream. Throws if a part does not continue at the cursor or the part before it. */
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
  { siteId, epoch, nowMs, keepsErased, isPast = false }: PartsTarget,
  parts: readonly CheckedPart[],
  erased: Erased,
): Promise<number> {
  // notes of the same request may erase more
  const bounds = parts.some(({ part }) => part.stream === 'notes') ? EVERYTHING : erased
  const quarantined: QuarantinedItem[] = []
  for (const { part, data, content } of parts) {
    const { stream, from, to } = part
    if (part.is_resend === true) {
      for (const { group, count, ...day } of resentRows(stream, content))
        await countResent(sql, siteId, day, group, count)
    }
    if (content.type === 'unreadable') {
      quarantined.push({ stream, from, to, reason: content.reason, body: data })
    } else if (content.type !== 'rows') {
      await applyTelemetry(sql, { siteId, epoch, nowMs }, { part, data, content }, bounds)
    } else if (stream !== 'telemetry' && stream !== 'history') {
      const target = { siteId, epoch, nowMs, isResend: part.is_resend === true, isPast, keepsErased }
      const bad = await applyRows(sql, stream, content.rows, target)
      for (const { reason, body } of bad) quarantined.push({ stream, from, to, reason, body })
    }
  }
  if (quarantined.length > 0) {
    await requireRoom(sql, siteId, quarantined)
    await insertQuarantine(sql, siteId, epoch, quarantined, nowMs)
  }
  return quarantined.length
}

/** Maximum size of the quarantine of a site. */
const QUARANTINE_ITEMS = 10_000
const QUARANTINE_BYTES = 64 << 20

/** Throws `quarantine_full`: the gateway keeps the data, and other streams continue. */
async function requireRoom(sql: Sql, siteId: string, more: readonly QuarantinedItem[]): Promise<void> {
  const held = await quarantineSize(sql, siteId)
  const bytes = more.reduce((sum, { body }) => sum + body.length, held.bytes)
  if (held.pieces + more.length <= QUARANTINE_ITEMS && bytes <= QUARANTINE_BYTES) return
  throw new InvalidRequestError(
    'quarantine_full',
    'the hub cannot read this data, and the quarantine of this site is full: an admin of the hub must inspect it',
  )
}

function reaches(seq: number, before: number, end: number): boolean {
  return seq >= end && (before < end || end === 0)
}

function conflict(cursors: SyncCursors): CursorConflictError {
  return new CursorConflictError('cursor', 'the parts do not continue at the cursors of the hub', cursors)
}

/** Rows of a group that an audit requested. */
interface ResentRows {
  readonly kind: AuditKind
  /** -1 for entities. */
  readonly dayMs: number
  readonly group: string
  count: number
}

/** Returns the number of rows of each group in a resent part. */
function resentRows(stream: SyncStream, content: PartContent): ResentRows[] {
  const groups = new Map<string, ResentRows>()
  const add = (kind: AuditKind, dayMs: number, group: string) => {
    const key = JSON.stringify([kind, dayMs, group])
    const known = groups.get(key)
    if (known === undefined) groups.set(key, { kind, dayMs, group, count: 1 })
    else known.count++
  }
  if (content.type === 'rows' && stream !== 'telemetry' && stream !== 'history') {
    for (const row of content.rows) {
      const { table, at_ms, hardware_id } = { ...(typeof row === 'object' ? row : {}) } as Record<string, unknown>
      if (stream === 'entities') add(stream, -1, String(table))
      else if (typeof at_ms === 'number') add(stream, dayOf(at_ms), stream === 'notes' ? '' : String(hardware_id))
    }
  } else if (content.type === 'runs' || content.type === 'blocks') {
    const pieces = content.type === 'runs' ? content.runs : content.blocks
    for (const { hardwareId, stream: kind, records } of pieces)
      for (const timeMs of records.atMs) add(kind, dayOf(timeMs), hardwareId)
  }
  return [...groups.values()]
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS
}
