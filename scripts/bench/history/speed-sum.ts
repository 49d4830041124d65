import Database from 'better-sqlite3'
import { answerCalls } from '#scripts/rig/calls.ts'
import { recordSingle } from './history-parts.ts'

/** Process that queries SQLite directly, with the fixes of one device as rows. */

let db: Database.Database

/** Writes the fixes of that many days to a new file. */
function create(path: string, days: number): void {
  db = new Database(path)
  db.exec(`CREATE TABLE fix (device INTEGER, ts INTEGER, lat INTEGER, long INTEGER, speed INTEGER,
    PRIMARY KEY (device, ts)) STRICT, WITHOUT ROWID`)
  const insert = db.prepare('INSERT INTO fix VALUES (1, ?, ?, ?, ?)')
  const { atMs, latE7, longE7, speedMilliKmh } = recordSingle(days)
  db.transaction(() => {
    for (let i = 0; i < atMs.length; i++) insert.run(atMs[i], latE7[i], longE7[i], speedMilliKmh[i])
  })()
}

/** Adds up the speeds; returns the seconds that took. */
function addUp(): number {
  const startMs = performance.now()
  db.prepare<[], number>('SELECT sum(speed) FROM fix').pluck().get()
  return (performance.now() - startMs) / 1000
}

const functions = answerCalls({ create, addUp })

export type SpeedSumFunctions = typeof functions
