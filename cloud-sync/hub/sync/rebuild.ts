import { createHash } from 'node:crypto'
import { readCursors } from '#hub/store/cursors.ts'
import type { Database } from '#hub/store/database/database.ts'
import { insertRows } from '#hub/store/database/insert-rows.ts'
import { isEpochOfAnother, recordEpoch } from '#hub/store/epochs.ts'
import {
  auditEntriesAfter,
  deviceWithBlocks,
  entitiesAfter,
  eventsAfter,
  type KeptRow,
  reassignEpoch,
  siteToRebuild,
} from '#hub/store/rebuild.ts'
import { inSite, siteNotFound } from '#hub/store/sites.ts'
import { addStoredBytes, ROW_BYTES } from '#hub/store/stored-bytes.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { readTelemetry } from '#hub/store/telemetry/reader.ts'
import { ConflictError, InvalidRequestError } from '#shared/errors.ts'
import { encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { encodeBlocks } from '#shared/telemetry/blocks.ts'
import { splitIntoFullBlocks } from '#shared/telemetry/merge.ts'
import { BATTERY, GPS, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import type { Clock } from '#shared/time.ts'
import type {
  RebuildKind,
  RebuildOffer,
  RebuildPage,
  Rebuilt,
  RebuiltAnswer,
} from '#shared/wire/replication/rebuild.ts'
import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SiteBudgets } from './site-budgets.ts'

export interface RebuildDeps {
  readonly database: Database
  readonly clock: Clock
  readonly budgets: SiteBudgets
}

export interface PageQuery {
  readonly kind: RebuildKind
  readonly after: string | undefined
  readonly since: number
}

const ROWS = 1000
/** A page ends with the row that reaches this size: one row may have a megabyte. */
const ROW_PAGE_BYTES = 1 << 20
const RECORDS = 32 * MAX_BLOCK_RECORDS
/** Later than all times in blocks. */
const END_MS = 2 ** 43

/** Returns an overview of the data that the hub can give back. Throws `site_not_found`. */
export async function offerRebuild({ database }: RebuildDeps, siteId: string): Promise<RebuildOffer> {
  const site = await siteToRebuild(database, siteId)
  if (site === undefined) throw siteNotFound(siteId)
  const { epoch, lastSeenMs, backlogRows } = site
  return { site: siteId, epoch, last_seen_ms: lastSeenMs, backlog_rows: backlogRows }
}

/** Returns the next page of the hub's data of a kind. Throws `invalid_cursor`. */
export function rebuildPage(deps: RebuildDeps, siteId: string, query: PageQuery): Promise<RebuildPage> {
  // within the site's slot, like its pushes: other sites are affected no more than by those
  return deps.budgets.inTurn(siteId, async () => {
    const after = readPlace(query.after)
    if (query.kind === 'gps') return recordPage(deps, siteId, GPS, after, query.since)
    if (query.kind === 'battery') return recordPage(deps, siteId, BATTERY, after, query.since)
    return rowPage(await rowsAfter(deps.database, siteId, query.kind, after), query.kind)
  })
}

/**
 * Registers a database made from the pages: its streams are acknowledged up to their ends. A second call has the same
 * result. Throws `foreign_epoch`, or `epoch_exists` for an epoch that has already sent data.
 */
export async function applyRebuilt(
  { database, clock }: RebuildDeps,
  siteId: string,
  { epoch, forked_from, ends }: Rebuilt,
): Promise<RebuiltAnswer> {
  if (await isEpochOfAnother(database, siteId, epoch))
    throw new ConflictError('foreign_epoch', 'this database has already been replicated as another site')
  return inSite(database, siteId, async (sql) => {
    const nowMs = clock.nowMs()
    const wanted = SYNC_STREAMS.map((stream) => {
      const seq = ends[stream]
      const hash = createHash('sha256').update(`rebuilt\n${epoch}\n${stream}\n${seq}`).digest('hex')
      return { stream, cursor: seq === 0 ? NO_CURSOR : { seq, hash } }
    })
    if (await recordEpoch(sql, siteId, { epoch, forked_from, ends }, nowMs)) {
      await insertRows(
        sql,
        'sync_cursor',
        ['site_id', 'epoch', 'stream', 'seq', 'hash', 'row_count', 'moved_at_ms'],
        wanted.map(({ stream, cursor }) => [siteId, epoch, stream, cursor.seq, cursor.hash, 0, nowMs]),
      )
      await reassignEpoch(sql, siteId, epoch)
      await addStoredBytes(sql, siteId, (1 + SYNC_STREAMS.length) * ROW_BYTES)
    }
    const cursors = await readCursors(sql, siteId, epoch)
    if (wanted.some(({ stream, cursor }) => cursors[stream].hash !== cursor.hash))
      throw new ConflictError('epoch_exists', 'the hub knows this epoch already, with other data')
    return { cursors }
  })
}

async function rowsAfter(
  database: Database,
  siteId: string,
  kind: Exclude<RebuildKind, 'gps' | 'battery'>,
  after: readonly (string | number)[],
): Promise<KeptRow[]> {
  if (kind === 'entities') return entitiesAfter(database, siteId, after, ROWS)
  if (kind === 'audit_entries') return auditEntriesAfter(database, siteId, after, ROWS)
  return eventsAfter(database, siteId, kind, after, ROWS)
}

function rowPage(rows: readonly KeptRow[], kind: RebuildKind): RebuildPage {
  const texts: string[] = []
  let bytes = 0
  for (const { table, key, body } of rows) {
    if (bytes >= ROW_PAGE_BYTES) break
    const isEntity = kind === 'entities' || kind === 'audit_entries'
    const text = isEntity ? `{"table":${JSON.stringify(table)},"key":${JSON.stringify(key)},"body":${body}}` : body
    texts.push(text)
    bytes += text.length
  }
  const last = rows[texts.length - 1]
  const isLast = texts.length === rows.length && rows.length < ROWS
  return pageOf(texts.length, isLast || last === undefined ? null : last.place, `[${texts.join(',')}]`)
}

async function recordPage<R extends Records>(
  { database, clock }: RebuildDeps,
  siteId: string,
  kind: RecordKind<R>,
  after: readonly (string | number)[],
  sinceMs: number,
): Promise<RebuildPage> {
  // without compaction each device would have to be searched in each segment
  while ((await compactSegments(database, siteId, clock.nowMs())) > 0);
  const [asked = '', afterMs] = after
  const first = { hardwareId: String(asked), isIncluded: afterMs !== undefined, sinceMs }
  const hardwareId = await deviceWithBlocks(database, siteId, kind.name, first)
  if (hardwareId === undefined) return pageOf(0, null, '')
  const fromMs = hardwareId === asked && afterMs !== undefined ? Number(afterMs) + 1 : sinceMs
  const range = { fromMs, toMs: END_MS, limit: RECORDS }
  const records = await readTelemetry(database, kind, { siteId, hardwareId }, range, [])
  const { length } = records.atMs
  const blocks = splitIntoFullBlocks(kind, records).map((some) => ({
    hardwareId,
    block: encodeBlock(kind, some),
  }))
  const content = length === 0 ? '' : Buffer.from(encodeBlocks(blocks)).toString('base64')
  const lastMs = records.atMs[length - 1]
  return pageOf(length, length < RECORDS || lastMs === undefined ? [hardwareId] : [hardwareId, lastMs], content)
}

function pageOf(count: number, next: readonly (string | number)[] | null, content: string): RebuildPage {
  const sum = createHash('sha256').update(content).digest('hex')
  return { count, next: next === null ? null : JSON.stringify(next), content, sum }
}

/** Reads the end of the last page, as reported by this hub or another one. */
function readPlace(after: string | undefined): readonly (string | number)[] {
  if (after === undefined) return []
  try {
    const place: unknown = JSON.parse(after)
    if (Array.isArray(place) && place.length <= 3 && place.every(isPlain)) return place
  } catch {
    // same error as for an invalid position
  }
  throw new InvalidRequestError('invalid_cursor', 'after must be next of the page before')
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value))
}
