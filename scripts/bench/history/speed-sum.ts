import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { recordSingle } from './history-parts.ts'
import { type SpeedSumResult, speedSumPlanSchema } from './speed-sum-plan.ts'

/**
 * The process that asks SQLite itself: a plan on stdin, then a line for every time it is to add up the speeds; ends when
 * its parent does.
 */

function create(line: string): Database.Database {
  const { path, days } = speedSumPlanSchema.parse(JSON.parse(line))
  const db = new Database(path)
  db.exec(`CREATE TABLE fix (device INTEGER, ts INTEGER, lat INTEGER, long INTEGER, speed INTEGER,
    PRIMARY KEY (device, ts)) STRICT, WITHOUT ROWID`)
  const insert = db.prepare('INSERT INTO fix VALUES (1, ?, ?, ?, ?)')
  const { atMs, latE7, longE7, speedMilliKmh } = recordSingle(days)
  db.transaction(() => {
    for (let i = 0; i < atMs.length; i++) insert.run(atMs[i], latE7[i], longE7[i], speedMilliKmh[i])
  })()
  return db
}

function addUp(db: Database.Database): SpeedSumResult {
  const startMs = performance.now()
  const sum = db.prepare<[], number>('SELECT sum(speed) FROM fix').pluck().get() ?? 0
  return { sum, durationS: (performance.now() - startMs) / 1000 }
}

let db: Database.Database | undefined
const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))
lines.on('line', (line) => {
  db ??= create(line)
  process.stdout.write(`${JSON.stringify(addUp(db))}\n`)
})
