import { setTimeout as sleep } from 'node:timers/promises'
import { readDatabase } from '#scripts/rig/read-database.ts'
import { decodeBatch } from '#store/telemetry/batch.ts'

const LIMIT_MS = 120_000
const POLL_MS = 100

const TABLES = {
  notes: 'note',
  lock_events: 'lock_event',
  geofence_events: 'geofence_event',
  entities: 'change_log',
  history: 'block_log',
} as const

/** The streams of which a gateway still has something to send, as its database says; `dataDir` may be in use. */
function streamsWaiting(dataDir: string): string[] {
  return readDatabase(dataDir, (db) => {
    const cursors = db
      .prepare<[], { stream: string; seq: number }>('SELECT stream, seq FROM sync_cursor')
      .all()
    const at = (stream: string) => cursors.find((cursor) => cursor.stream === stream)?.seq ?? 0
    const waiting = Object.entries(TABLES).filter(([stream, table]) => {
      const rows = db.prepare<[number], number>(`SELECT count(*) FROM ${table} WHERE seq > ?`).pluck()
      return (rows.get(at(stream)) ?? 0) > 0
    })
    const streams = waiting.map(([stream]) => stream)
    const last = db
      .prepare<[], { firstSeq: number; samples: Uint8Array }>(
        'SELECT first_seq AS firstSeq, samples FROM telemetry_log ORDER BY first_seq DESC LIMIT 1',
      )
      .get()
    const endSeq = last === undefined ? 0 : last.firstSeq + decodeBatch(last.samples).count - 1
    return endSeq > at('telemetry') ? [...streams, 'telemetry'] : streams
  })
}

/** Resolves when a gateway has nothing more to send. */
export async function untilDrained(dataDir: string, describe: () => Promise<string>): Promise<void> {
  const giveUpAtMs = performance.now() + LIMIT_MS
  for (let waiting = streamsWaiting(dataDir); waiting.length > 0; waiting = streamsWaiting(dataDir)) {
    if (performance.now() > giveUpAtMs)
      throw new Error(`${waiting.join(', ')} not sent in ${LIMIT_MS / 1000} s: ${await describe()}`)
    await sleep(POLL_MS)
  }
}
