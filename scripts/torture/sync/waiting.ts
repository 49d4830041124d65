import { readDatabase } from '#scripts/rig/read-database.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import type { ApiClient } from '#shared/client.ts'
import { STREAM_TABLES } from '#store/ledger/streams.ts'
import { decodeBatch } from '#store/telemetry/batch.ts'

const LIMIT_MS = 120_000
const POLL_MS = 100

/** Streams with unsent rows according to the gateway's database; `dataDir` may be in use. */
function streamsWaiting(dataDir: string): string[] {
  return readDatabase(dataDir, (db) => {
    const cursors = db.prepare<[], { stream: string; seq: number }>('SELECT stream, seq FROM sync_cursor').all()
    const at = (stream: string) => cursors.find((cursor) => cursor.stream === stream)?.seq ?? 0
    const waiting = Object.entries(STREAM_TABLES).filter(([stream, table]) => {
      const last = db.prepare<[], number>(`SELECT max(seq) FROM ${table}`).pluck().get() ?? 0
      return last > at(stream)
    })
    const streams = waiting.map(([stream]) => stream)
    const log = db
      .prepare<[], { firstSeq: number; samples: Uint8Array }>(
        'SELECT first_seq AS firstSeq, samples FROM telemetry_log ORDER BY first_seq DESC LIMIT 1',
      )
      .get()
    const logEndSeq = log === undefined ? 0 : log.firstSeq + decodeBatch(log.samples).count - 1
    return logEndSeq > at('telemetry') ? [...streams, 'telemetry'] : streams
  })
}

/** Resolves when a gateway has nothing more to send. */
export async function untilDrained(dataDir: string, client: ApiClient): Promise<void> {
  if (await waitUntil(() => streamsWaiting(dataDir).length === 0, LIMIT_MS, POLL_MS)) return
  const { explanation } = await client.call('GET /sync/status')
  throw new Error(`${streamsWaiting(dataDir).join(', ')} not sent in ${LIMIT_MS / 1000} s: ${explanation}`)
}
