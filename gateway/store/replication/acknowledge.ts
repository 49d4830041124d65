import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { SyncCursor, SyncCursors, SyncStream } from '#shared/wire/replication/sync.ts'
import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { syncCursors } from '../ledger/cursors.ts'
import { queueNextChunk } from '../tables/course-chunks.ts'

/** Records that the hub has everything up to these cursors, and deletes data that was kept only to be sent. */
export const acknowledge = write(
  (connection: Connection, { cursors }: { cursors: Partial<Record<SyncStream, SyncCursor>> }): null => {
    const known = syncCursors(connection)
    for (const stream of SYNC_STREAMS) {
      const cursor = cursors[stream]
      if (cursor === undefined) continue
      const { seq, hash } = cursor
      connection.run('INSERT OR REPLACE INTO sync_cursor (stream, seq, hash) VALUES (?, ?, ?)', stream, seq, hash)
      if (stream === 'history') connection.run('DELETE FROM block_log WHERE seq <= ?', seq)
      if (stream === 'notes') connection.run('DELETE FROM erase_mark WHERE note_seq <= ?', seq)
      if (stream === 'entities') {
        forgetGone(connection, known.entities.seq, seq)
        queueNextChunk(connection, seq)
      }
    }
    return null
  },
  { audit: null },
)

/** Adopts the hub's cursors if they are lower or higher than the acknowledged ones. */
export const adoptCursors = write(
  (connection: Connection, { cursors }: { cursors: SyncCursors }): null => {
    return acknowledge(connection, { cursors })
  },
  { audit: null },
)

// Commands and photo chunks grow most over the years. A hub that has the note of a deletion needs no second one.
function forgetGone(connection: Connection, afterSeq: number, throughSeq: number): void {
  connection.run(
    `DELETE FROM change_log WHERE seq > ? AND seq <= ?
       AND (entity = 'command' AND NOT EXISTS (SELECT 1 FROM command WHERE command_id = key)
         OR entity = 'course_piece'
           AND NOT EXISTS (SELECT 1 FROM course_piece WHERE printf('%s/%04d', hash, number) = key))`,
    afterSeq,
    throughSeq,
  )
}
