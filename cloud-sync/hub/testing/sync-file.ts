import { gzipSync } from 'node:zlib'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncCursors, SyncPart } from '#shared/wire/replication/sync.ts'
import { endsOf, type SiteClient } from './site-client.ts'

/** Returns the lines of the file that a gateway would write for these parts, which continue at its cursors. */
export function fileLinesOf(
  site: SiteClient,
  parts: readonly SyncPart[],
  { head = {}, devices = [] }: { head?: object; devices?: readonly object[] } = {},
): string[] {
  const cursors: SyncCursors = { ...site.cursors }
  for (const { stream, to: seq, hash } of parts) cursors[stream] = { seq, hash }
  const rows = parts.reduce((sum, { count }) => sum + count, 0)
  const lines = [
    {
      head: {
        cartbarn_sync: 1,
        site: site.siteId,
        epoch: site.epoch,
        forked_from: null,
        program: 'cartbarn 0.1.0',
        exported_at_ms: Date.now(),
        ends: endsOf(cursors, 0),
        cursors: site.cursors,
        ...head,
      },
    },
    ...SYNC_STREAMS.flatMap((stream) => parts.filter((part) => part.stream === stream)).map((part) => ({ part })),
    { devices },
    { end: { parts: parts.length, rows, cursors } },
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`)
}

export function fileOf(lines: readonly string[]): Buffer {
  return gzipSync(lines.join(''))
}
