import { STREAM_TABLES } from '../ledger/streams.ts'
import { countUnqueuedChunks } from '../tables/course-chunks.ts'
import { decodeBatch, recordsIn, type TelemetryBatch } from '../telemetry/batch.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'
import { entitiesAfter } from './entities.ts'

/** Number of rows in some positions of a stream, with the position of the next portion; null at the end. */
export interface BacklogPortion {
  readonly rows: number
  readonly oldestMs: number | null
  readonly after: number | null
}

/** Number of positions of the block log that are counted together. */
const CHUNK_ENTRIES = 1024

/** Number of block log entries in a chunk of positions. */
export interface HistoryChunk {
  /** Covers the `CHUNK_ENTRIES` positions after `chunk * CHUNK_ENTRIES`. */
  readonly chunk: number
  readonly entries: number
}

const ENTRIES_A_STATEMENT = 4096
const STATEMENTS_A_PORTION = 8
const SAMPLES_A_PORTION = 65_536

/** Stream whose positions are rows. */
export type RowStream = Exclude<keyof typeof STREAM_TABLES, 'history'>

export function countRows(
  { connection }: ReaderTools,
  { stream, after }: { stream: RowStream; after: number },
): BacklogPortion {
  const timeColumn = stream === 'entities' ? 'NULL' : 'at_ms'
  const [first] = stream === 'entities' ? entitiesAfter(connection, after, 1) : []
  let oldestMs = first?.changedAtMs ?? null
  let [rows, last] = [stream === 'entities' ? countUnqueuedChunks(connection) : 0, after]
  for (let i = 0; i < STATEMENTS_A_PORTION; i++) {
    const found = connection.get<{ rows: number; oldestMs: number | null; last: number | null }>(
      // `+?`: see block-rows.ts
      `SELECT count(*) AS rows, min(atMs) AS oldestMs, max(seq) AS last FROM (
         SELECT seq, ${timeColumn} AS atMs FROM ${STREAM_TABLES[stream]} WHERE seq > +? ORDER BY seq LIMIT
         ${ENTRIES_A_STATEMENT})`,
      last,
    )
    if (found === undefined || found.last === null) return { rows, oldestMs, after: null }
    rows += found.rows
    last = found.last
    oldestMs = earlier(oldestMs, found.oldestMs)
    if (found.rows < ENTRIES_A_STATEMENT) return { rows, oldestMs, after: null }
  }
  return { rows, oldestMs, after: last }
}

/** Counts records of the log after a position, including those of deleted devices. */
export function countLogged({ connection }: ReaderTools, { after }: { after: number }): BacklogPortion {
  const rows = connection
    .statement<{ firstSeq: number; samples: Uint8Array }>(
      `SELECT first_seq AS firstSeq, samples FROM telemetry_log
       WHERE first_seq >= ifnull((SELECT max(first_seq) FROM telemetry_log WHERE first_seq <= +?), 0)
       ORDER BY first_seq`,
    )
    .iterate(after + 1)
  let records = 0
  let oldestMs: number | null = null
  for (const { firstSeq, samples } of rows) {
    const batch = decoded(samples)
    if (batch === null) continue
    for (let i = Math.max(0, after + 1 - firstSeq); i < batch.count; i++) {
      records += recordsIn(batch.streams[i] ?? 0)
      oldestMs = earlier(oldestMs, batch.atMs[i] ?? null)
    }
    const lastSeq = firstSeq + batch.count - 1
    if (lastSeq >= after + SAMPLES_A_PORTION) return { rows: records, oldestMs, after: lastSeq }
  }
  return { rows: records, oldestMs, after: null }
}

/** Number of block log entries after a position, by chunk. Entries never change; deletions shrink a chunk. */
export function historyChunks({ connection }: ReaderTools, { after }: { after: number }): HistoryChunk[] {
  const last = connection.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM block_log')?.seq ?? 0
  const chunks: HistoryChunk[] = []
  for (let chunk = chunkOf(after + 1); chunk <= chunkOf(last); chunk++) {
    const { entries = 0 } =
      connection.get<{ entries: number }>(
        'SELECT count(*) AS entries FROM block_log WHERE seq > ? AND seq <= ?',
        ...boundsOf(chunk, after),
      ) ?? {}
    if (entries > 0) chunks.push({ chunk, entries })
  }
  return chunks
}

/** Counts the records in the blocks of a chunk after a position. */
export function countChunk(
  { connection }: ReaderTools,
  { chunk, after }: { chunk: number; after: number },
): Omit<BacklogPortion, 'after'> {
  const found = connection.get<{ rows: number; oldestMs: number | null }>(
    `SELECT ifnull(sum(count), 0) AS rows, min(first_ms) AS oldestMs
     FROM block_log JOIN stored_block USING (block_id) WHERE seq > ? AND seq <= ?`,
    ...boundsOf(chunk, after),
  )
  return found ?? { rows: 0, oldestMs: null }
}

function chunkOf(seq: number): number {
  return Math.floor((seq - 1) / CHUNK_ENTRIES)
}

function boundsOf(chunk: number, after: number): [after: number, through: number] {
  return [Math.max(after, chunk * CHUNK_ENTRIES), (chunk + 1) * CHUNK_ENTRIES]
}

function decoded(samples: Uint8Array): TelemetryBatch | null {
  try {
    return decodeBatch(samples)
  } catch {
    // the lane that sends it, or the sealing, reports it
    return null
  }
}

/** Earlier of two times; null if both are unknown. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || (b !== null && b < a) ? b : a
}
