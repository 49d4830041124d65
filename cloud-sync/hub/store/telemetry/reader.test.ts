import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { DATABASE_KINDS } from '#hub/testing/databases.ts'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, type BatteryRecords, GPS, type GpsRecords } from '#shared/telemetry/records.ts'
import type { TelemetryRun } from '#shared/telemetry/runs.ts'
import { encodeRuns } from '#shared/telemetry/runs.ts'
import type { Database } from '../database/database.ts'
import { inSite, insertSite } from '../sites.ts'
import { recordsOf } from './blocks.ts'
import { compactSegments } from './compactor.ts'
import { addBlocks, addRuns } from './device-telemetry.ts'
import { eraseRecords } from './erasures.ts'
import { readTelemetry } from './reader.ts'
import { insertSegment } from './segments.ts'

const DEVICES = ['cart-1', 'cart-2', 'cart-10']
const STREAMS = ['gps', 'battery'] as const
const LAST_MS = 400

/** Measurements of a device, determined by their times. */
function gpsAt(times: readonly number[]): GpsRecords {
  const records = GPS.allocate(times.length)
  for (const [i, timeMs] of times.entries()) {
    records.atMs[i] = timeMs
    records.latE7[i] = timeMs * 7
    records.longE7[i] = -timeMs
    records.speedMilliKmh[i] = timeMs % 5 === 0 ? -1 : timeMs
  }
  return records
}

function batteryAt(times: readonly number[]): BatteryRecords {
  const records = BATTERY.allocate(times.length)
  for (const [i, timeMs] of times.entries()) {
    records.atMs[i] = timeMs
    records.voltageMv[i] = timeMs + 10_000
  }
  return records
}

type Stream = (typeof STREAMS)[number]

function runOf(hardwareId: string, stream: Stream, times: readonly number[]): TelemetryRun {
  return stream === 'gps'
    ? { hardwareId, stream, records: gpsAt(times) }
    : { hardwareId, stream, records: batteryAt(times) }
}

const timesArbitrary = fc
  .uniqueArray(fc.nat({ max: LAST_MS }), { minLength: 1, maxLength: 40 })
  .map((times) => times.sort((a, b) => a - b))
const pieceArbitrary = fc.record({
  hardwareId: fc.constantFrom(...DEVICES),
  stream: fc.constantFrom(...STREAMS),
  times: timesArbitrary,
})
const piecesOf = (type: string, maxLength: number) =>
  fc.record({ type: fc.constant(type), pieces: fc.array(pieceArbitrary, { minLength: 1, maxLength }) })
const stepArbitrary = fc.oneof(
  { weight: 5, arbitrary: piecesOf('segment', 6) },
  { weight: 3, arbitrary: piecesOf('blocks', 4) },
  { weight: 2, arbitrary: piecesOf('runs', 4) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('compact'), rows: fc.constantFrom(1, 50, 1000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('erase'),
      hardwareId: fc.constantFrom(...DEVICES),
      streams: fc.constantFrom<readonly Stream[]>(['gps'], ['battery'], ['gps', 'battery']),
      throughMs: fc.option(fc.nat({ max: LAST_MS }), { nil: undefined }),
    }),
  },
)
type Step =
  | { type: 'segment' | 'blocks' | 'runs'; pieces: { hardwareId: string; stream: Stream; times: number[] }[] }
  | { type: 'compact'; rows: number }
  | { type: 'erase'; hardwareId: string; streams: readonly Stream[]; throughMs: number | undefined }
const rangeArbitrary = fc.record({
  fromMs: fc.nat({ max: LAST_MS }),
  lengthMs: fc.nat({ max: LAST_MS }),
  order: fc.constantFrom<'asc' | 'desc'>('asc', 'desc'),
  limit: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
})

for (const kind of DATABASE_KINDS) {
  describe(`telemetry on ${kind.name}`, { skip: kind.skip }, () => {
    let database: Database
    let sites = 0
    before(async () => {
      database = await kind.open()
    })
    after(() => database?.stop())

    test('is what came, once, less what was erased, however it came and whenever it was compacted', async () => {
      await fc.assert(
        fc.asyncProperty(
          // each step is of one of these shapes
          fc.array(stepArbitrary, { minLength: 1, maxLength: 14 }) as fc.Arbitrary<Step[]>,
          fc.array(rangeArbitrary, { minLength: 2, maxLength: 4 }),
          async (steps, ranges) => {
            const siteId = `site-${++sites}`
            await insertSite(database, { siteId, name: 'x', keyHash: 'x', nowMs: 0 })
            const model = new Map<string, Set<number>>()
            const ofModel = (hardwareId: string, stream: Stream) => {
              const name = `${hardwareId} ${stream}`
              const times = model.get(name) ?? new Set()
              model.set(name, times)
              return times
            }
            for (const [i, step] of steps.entries()) {
              await doStep(database, siteId, step, i + 1)
              if (step.type === 'compact') continue
              if (step.type === 'erase') {
                const { hardwareId, streams, throughMs = Number.POSITIVE_INFINITY } = step
                for (const stream of streams) {
                  const times = ofModel(hardwareId, stream)
                  for (const timeMs of [...times]) if (timeMs <= throughMs) times.delete(timeMs)
                }
              } else {
                for (const { hardwareId, stream, times } of step.pieces) {
                  for (const timeMs of times) ofModel(hardwareId, stream).add(timeMs)
                }
              }
            }
            for (const hardwareId of DEVICES) {
              for (const { fromMs, lengthMs, order, limit } of ranges) {
                const range = { fromMs, toMs: fromMs + lengthMs, order, ...(limit === undefined ? {} : { limit }) }
                const expect = (stream: Stream) => {
                  const times = [...ofModel(hardwareId, stream)]
                    .filter((timeMs) => timeMs >= range.fromMs && timeMs <= range.toMs)
                    .sort((a, b) => a - b)
                  if (limit === undefined) return times
                  return order === 'asc' ? times.slice(0, limit) : times.slice(-limit)
                }
                const of = { siteId, hardwareId }
                assert.deepEqual(await readTelemetry(database, GPS, of, range), gpsAt(expect('gps')))
                assert.deepEqual(await readTelemetry(database, BATTERY, of, range), batteryAt(expect('battery')))
              }
            }
            await assertNoTimeTwice(database, siteId)
            while ((await compactSegments(database, siteId, 0, 100)) > 0);
            await assertCounts(database, siteId, ofModel)
          },
        ),
        { numRuns: kind.name === 'PGlite' ? 25 : 40 },
      )
    })
  })
}

async function doStep(database: Database, siteId: string, step: Step, position: number): Promise<void> {
  if (step.type === 'compact') {
    await compactSegments(database, siteId, 0, step.rows)
    return
  }
  await inSite(database, siteId, async (sql) => {
    if (step.type === 'erase') {
      const { hardwareId, streams, throughMs } = step
      await eraseRecords(sql, siteId, { hardwareId, streams }, { throughMs })
      return
    }
    const runs = step.pieces.map(({ hardwareId, stream, times }) => runOf(hardwareId, stream, times))
    if (step.type === 'runs') return addRuns(sql, siteId, runs)
    if (step.type === 'blocks') {
      const blocks = runs.map((run) =>
        run.stream === 'gps'
          ? { ...run, block: encodeBlock(GPS, run.records) }
          : { ...run, block: encodeBlock(BATTERY, run.records) },
      )
      return addBlocks(sql, siteId, blocks)
    }
    const times = step.pieces.flatMap((piece) => piece.times)
    await insertSegment(
      sql,
      siteId,
      {
        epoch: position % 2 === 0 ? 'a' : 'b',
        from: position - 1,
        to: position,
        rows: times.length,
        firstMs: Math.min(...times),
        lastMs: Math.max(...times),
        body: encodeRuns(runs),
      },
      position,
    )
  })
}

interface BlockRow {
  hardware_id: string
  stream: Stream
  first_ms: number
  last_ms: number
  record_count: number
  body: Uint8Array
}

async function blocksOf(database: Database, siteId: string): Promise<{ row: BlockRow; times: number[] }[]> {
  const rows = await database.all<BlockRow>('SELECT * FROM telemetry_block WHERE site_id = $1', [siteId])
  return rows.map((row) => {
    const { atMs } = row.stream === 'gps' ? recordsOf(GPS, row.body) : recordsOf(BATTERY, row.body)
    return { row, times: [...atMs] }
  })
}

async function assertNoTimeTwice(database: Database, siteId: string): Promise<void> {
  const seen = new Set<string>()
  for (const { row, times } of await blocksOf(database, siteId)) {
    assert.equal(row.record_count, times.length)
    assert.deepEqual([row.first_ms, row.last_ms], [times[0], times.at(-1)])
    for (const timeMs of times) {
      const name = `${row.hardware_id} ${row.stream} ${timeMs}`
      assert.ok(!seen.has(name), `${name} twice`)
      seen.add(name)
    }
  }
}

/** Compares counts, which are exact once everything is in blocks. */
async function assertCounts(
  database: Database,
  siteId: string,
  ofModel: (hardwareId: string, stream: Stream) => Set<number>,
): Promise<void> {
  await assertNoTimeTwice(database, siteId)
  for (const hardwareId of DEVICES) {
    for (const stream of STREAMS) {
      const row = await database.get<{ count: number | null }>(
        `SELECT SUM(record_count) AS "count" FROM telemetry_block
          WHERE site_id = $1 AND hardware_id = $2 AND stream = $3`,
        [siteId, hardwareId, stream],
      )
      assert.equal(row?.count ?? 0, ofModel(hardwareId, stream).size)
    }
  }
}
