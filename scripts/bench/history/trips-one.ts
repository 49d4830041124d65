import { join } from 'node:path'
import Database from 'better-sqlite3'
import { downloadOf, startDownloadClient } from '#scripts/rig/load/downloads.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { byFigure } from '#scripts/rig/rounds.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { GpsRecords } from '#shared/telemetry/records.ts'
import { checkTrips, makeHistory, tripsOfOne } from './shared-history.ts'

/** Reads the trips of a month of one device, compared with SQLite adding up a column of the same fixes. */
export const tripsOne = measurement({
  name: 'trips-one',
  summary: 'trips of a device, 31 days at a fix a second, compared with SQLite alone',
  rounds: 9,
  figures: {
    ratio: { what: 'GET /trips/:id : SELECT sum(speed)', target: ['<=', 1.5], digits: 2 },
    trips: { what: 'GET /trips/:id', unit: ' ms', digits: 1 },
    sum: { what: 'SELECT sum(speed)', unit: ' ms', digits: 1 },
    rate: { what: 'fixes a second of GET /trips/:id' },
  },
  async run(context) {
    const { bench, rounds } = context
    const { folder, single, singleTrack } = await bench.shared(makeHistory, context)
    const db = createRows(join(bench.createFolder('rows'), 'rows.db'), singleTrack)
    const gateway = await folder.start()
    const path = tripsOfOne(single)
    await checkTrips(gateway, path, single)
    const client = startDownloadClient(bench)
    const runs: Record<'ratio' | 'trips' | 'sum' | 'rate', number>[] = []
    // one warm-up of each: the response above came from a process that had just started
    for (let round = -1; round < rounds; round++) {
      const startMs = performance.now()
      db.prepare('SELECT sum(speed) FROM fix').get()
      const sum = performance.now() - startMs
      const trips = 1000 * (await client.call('download', downloadOf(gateway, path))).durationS
      printProgress(`  trips ${trips.toFixed(1)} ms, sum ${sum.toFixed(1)} ms`)
      if (round >= 0) runs.push({ ratio: trips / sum, trips, sum, rate: (1000 * single.records) / trips })
    }
    db.close()
    client.kill()
    await gateway.process.stop()
    return byFigure(runs)
  },
})

/** Creates a database with the fixes of one device as rows. */
function createRows(path: string, { atMs, latE7, longE7, speedMilliKmh }: GpsRecords): Database.Database {
  const db = new Database(path)
  db.exec(`CREATE TABLE fix (device INTEGER, ts INTEGER, lat INTEGER, long INTEGER, speed INTEGER,
    PRIMARY KEY (device, ts)) STRICT, WITHOUT ROWID`)
  const insert = db.prepare('INSERT INTO fix VALUES (1, ?, ?, ?, ?)')
  db.transaction(() => {
    for (let i = 0; i < atMs.length; i++) insert.run(atMs[i], latE7[i], longE7[i], speedMilliKmh[i])
  })()
  return db
}
