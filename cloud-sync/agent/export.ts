import { partHash } from '#shared/sync-hash.ts'
import type { PartLimits, SyncSourcePort } from '#shared/sync-source.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import {
  SYNC_PROTOCOL,
  type SyncCursor,
  type SyncCursors,
  type SyncPart,
  type SyncStream,
} from '#shared/wire/replication/sync.ts'
import type { SyncFileEnd, SyncFileHead } from '#shared/wire/replication/sync-file.ts'
import { statePages } from './state-pages.ts'

/** Limits of a request to a hub, because the import sends the lines on. */
const LIMITS: PartLimits = { bytes: 256 << 10, rows: 200_000 }

/** Start and end of a file, by stream, with the number of rows. */
export interface ExportedRange {
  readonly stream: SyncStream
  readonly from: SyncCursor
  readonly to: SyncCursor
  readonly rows: number
}

/**
 * Returns all unacknowledged data as the lines of a file (shared/wire/sync-file.ts). Changes nothing: the file may
 * contain data that is acknowledged or sent meanwhile; the hub skips what it has. Data reported after the call may be
 * left for the next file.
 */
export async function* exportLines(
  source: SyncSourcePort,
  {
    site,
    program,
    nowMs,
    signal,
    devices,
    onExported,
  }: {
    site: string
    program: string
    nowMs: number
    signal: AbortSignal
    /** States of all devices, as in `GET /devices/:id`. */
    devices: readonly Record<string, unknown>[]
    /** Called before the last line, so that the cursors after the file are recognised when a hub reports them. */
    onExported: (ranges: readonly ExportedRange[]) => Promise<void>
  },
): AsyncGenerator<string> {
  const { epoch, forkedFrom } = source.identity()
  const ends = source.ends()
  const cursors: SyncCursors = { ...source.cursors() }
  const head: SyncFileHead = {
    cartbarn_sync: SYNC_PROTOCOL,
    site,
    epoch,
    forked_from: forkedFrom,
    program,
    exported_at_ms: nowMs,
    ends,
    cursors: { ...cursors },
  }
  yield line({ head })
  const ranges: ExportedRange[] = []
  let parts = 0
  for (const stream of SYNC_STREAMS) {
    const first = cursors[stream]
    let rows = 0
    // rows sealed meanwhile have left the log, which was read before, and are in new blocks
    const end = () => (stream === 'history' ? source.ends().history : ends[stream])
    while (cursors[stream].seq < end()) {
      const { seq: from, hash: prevHash } = cursors[stream]
      const found = await source.nextPart(stream, from, LIMITS, signal)
      if (found === null) break
      const { to, count, encoding, data } = found
      const hashed = { stream, from, to, count, prev_hash: prevHash, encoding }
      const hash = partHash(hashed, data)
      const part: SyncPart = { ...hashed, hash, data: Buffer.from(data).toString('base64') }
      yield line({ part })
      cursors[stream] = { seq: to, hash }
      parts++
      rows += count
    }
    if (cursors[stream].seq > first.seq) ranges.push({ stream, from: first, to: cursors[stream], rows })
  }
  for (const page of statePages(devices, LIMITS.bytes)) yield line({ devices: page })
  await onExported(ranges)
  const end: SyncFileEnd = { parts, rows: ranges.reduce((sum, range) => sum + range.rows, 0), cursors }
  yield line({ end })
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}
