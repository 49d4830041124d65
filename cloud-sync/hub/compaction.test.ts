import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Sites } from '#hub/sites/sites.ts'
import type { Database, Sql } from '#hub/store/database/database.ts'
import { putLatest } from '#hub/store/latest.ts'
import { insertSegment } from '#hub/store/telemetry/segments.ts'
import { ANY_DATABASE } from '#hub/testing/databases.ts'
import { gpsRun } from '#hub/testing/telemetry.ts'
import { createLog } from '#shared/log.ts'
import { encodeRuns } from '#shared/telemetry/runs.ts'
import { SetClock } from '#shared/testing/clocks.ts'
import { DAY_MS } from '#shared/time.ts'
import { createCompaction } from './compaction.ts'

describe('the compaction of segments into blocks', () => {
  const clock = new SetClock()
  let database: Database
  let sites: Sites
  before(async () => {
    database = await ANY_DATABASE.open()
    sites = new Sites(database, clock)
  })
  after(() => database.stop())

  let seq = 0
  const addRows = (siteId: string, count: number) => {
    const times = Array.from({ length: count }, () => ++seq)
    const body = encodeRuns([gpsRun('cart-1', times)])
    const segment = { epoch: 'e', from: seq - count, to: seq, rows: count, firstMs: 0, lastMs: seq, body }
    return insertSegment(database, siteId, segment, clock.nowMs())
  }
  const setDevices = (siteId: string, count: number) => {
    const states = Array.from({ length: count }, (_, i) => {
      return { hardwareId: `cart-${i}`, body: '{}', cartReport: null }
    })
    return putLatest(database, siteId, clock.nowMs(), states)
  }
  const segmentsOf = async (siteId: string) => {
    const sql = 'SELECT COUNT(*) AS count FROM segment WHERE site_id = $1'
    return (await database.get<{ count: number }>(sql, [siteId]))?.count
  }

  test('scales with the number of devices of a site, which it counts only once per compaction', async () => {
    const counted: string[][] = []
    const seen: Database = Object.assign(watching(database, counted), {
      transaction: <Result>(work: (sql: Sql) => Promise<Result>) => database.transaction(work),
      requireWritable: () => database.requireWritable(),
      start: () => database.start(),
      stop: () => database.stop(),
    })
    const compaction = createCompaction(seen, clock, createLog('silent'))
    const few = (await sites.add('Few rows')).siteId
    const site = (await sites.add('Three devices')).siteId
    const fresh = (await sites.add('No states yet')).siteId
    await setDevices(few, 1)
    await setDevices(site, 3)
    for (const [siteId, rows] of [
      [few, 511],
      [site, 1535],
      [fresh, 512],
    ] as const)
      await addRows(siteId, rows)
    for (let i = 0; i < 3; i++) await compaction.run()
    assert.deepEqual([await segmentsOf(few), await segmentsOf(site), await segmentsOf(fresh)], [1, 1, 0])
    for (const siteIds of counted) siteIds.sort()
    assert.deepEqual(counted, [[site, fresh].sort()])
    await addRows(site, 1)
    await compaction.run()
    assert.equal(await segmentsOf(site), 0)
    assert.equal(counted.length, 1)

    await setDevices(site, 4)
    await addRows(site, 2047)
    await compaction.run()
    assert.equal(await segmentsOf(site), 1)
    assert.deepEqual(counted.slice(1), [[site]])
    await addRows(site, 1)
    await compaction.run()
    assert.equal(await segmentsOf(site), 0)

    clock.advance(DAY_MS + 1)
    await compaction.run()
    assert.equal(await segmentsOf(few), 0)
  })
})

/** Records the sites whose states are counted. */
function watching(database: Sql, counted: string[][]): Sql {
  return {
    get: (text, values) => database.get(text, values),
    run: (text, values) => database.run(text, values),
    all: (text, values) => {
      const [siteIds] = values ?? []
      if (text.includes('site_latest') && Array.isArray(siteIds)) counted.push(siteIds.map(String))
      return database.all(text, values)
    },
  }
}
