import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { encodeBlock } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, NO_SPEED } from '#shared/telemetry/records.ts'
import { migrate } from '../migrate.ts'
import { allocateBatch, decodeBatch, HAS_BATTERY, HAS_GPS, type TelemetryBatch } from './batch.ts'
import { dropLog } from './blocks.ts'
import { WriterTables } from './log-tail.ts'

type Sample = [deviceId: number, atMs: number, streams: number]

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-log-tail-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

function open(): WriterTables {
  const db = new Database(join(folder, `${++files}.db`))
  db.pragma('journal_mode = WAL')
  // memory speed; but a second connection must see the data
  db.pragma('synchronous = OFF')
  const tables = new WriterTables(db)
  migrate(tables)
  return tables
}

function batchOf(samples: readonly Sample[]): TelemetryBatch {
  const batch = allocateBatch(samples.length)
  for (const [i, [deviceId, atMs, streams]] of samples.entries()) {
    batch.deviceId[i] = deviceId
    batch.atMs[i] = atMs
    batch.latE7[i] = i
    batch.speedMilliKmh[i] = NO_SPEED
    batch.voltageMv[i] = 12_000 + i
    batch.streams[i] = streams
  }
  return batch
}

function inLog(tables: WriterTables): Sample[] {
  return tables
    .all<{ samples: Uint8Array }>('SELECT samples FROM telemetry_log ORDER BY first_seq')
    .map(({ samples }) => decodeBatch(samples))
    .flatMap(({ deviceId, atMs, streams }) =>
      Array.from(deviceId, (id, i): Sample => [id, atMs[i] ?? 0, streams[i] ?? 0]),
    )
}

const sample = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3 }))

type Step = { samples: Sample[]; fails: boolean } | 'restart' | 'forget'

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ samples: fc.array(sample, { maxLength: 12 }), fails: fc.boolean() }) },
  fc.constantFrom<Step>('restart', 'forget'),
)

test('each record is stored once, whatever is repeated, fails, is forgotten or sealed', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 20 }),
      fc.uniqueArray(fc.integer({ min: 5, max: 30 }), { maxLength: 20 }),
      (steps, sealed) => {
        let tables = open()
        const { db } = tables
        const known = new Set<string>()
        putBlocks(tables, sealed, known)
        for (const next of steps) {
          if (next === 'restart') tables = new WriterTables(db)
          else if (next === 'forget') tables.tail.forget()
          else appendOnce(tables, next, known)
        }
        const keys = inLog(tables).flatMap(keysOf)
        assert.equal(new Set(keys).size, keys.length)
        assert.deepEqual(new Set([...keys, ...sealed.flatMap((atMs) => [`1 ${atMs} 1`, `2 ${atMs} 2`])]), known)
        for (const deviceId of [1, 2, 3]) {
          const logged = inLog(tables).filter(([id, , has]) => id === deviceId && (has & HAS_GPS) !== 0)
          const atMs = logged.map(([, at]) => at)
          const bounds = { firstMs: Math.min(...atMs), lastMs: Math.max(...atMs) }
          assert.deepEqual(tables.tail.bounds('gps', deviceId), atMs.length === 0 ? null : bounds)
        }
        tables.close()
      },
    ),
    { numRuns: 150 },
  )
})

function keysOf([deviceId, atMs, streams]: Sample): string[] {
  return [HAS_GPS, HAS_BATTERY].filter((bit) => (streams & bit) !== 0).map((bit) => `${deviceId} ${atMs} ${bit}`)
}

/** Positions of device 1 and voltages of device 2, in two blocks each. */
function putBlocks(tables: WriterTables, sealed: number[], known: Set<string>): void {
  sealed.sort((a, b) => a - b)
  const half = Math.ceil(sealed.length / 2)
  for (const times of [sealed.slice(0, half), sealed.slice(half)]) {
    if (times.length === 0) continue
    const atMs = Float64Array.from(times)
    const zeros = new Int32Array(times.length)
    const gps = encodeBlock(GPS, { atMs, latE7: zeros, longE7: zeros, speedMilliKmh: zeros })
    const battery = encodeBlock(BATTERY, { atMs, voltageMv: zeros })
    for (const [deviceId, stream, records] of [
      [1, 'gps', gps],
      [2, 'battery', battery],
    ] as const) {
      tables.run(
        'INSERT INTO telemetry_block (device_id, stream, first_ms, last_ms, count, records) VALUES (?, ?, ?, ?, ?, ?)',
        deviceId,
        stream,
        times[0] ?? 0,
        times.at(-1) ?? 0,
        times.length,
        records,
      )
    }
    for (const at of times) known.add(`1 ${at} 1`).add(`2 ${at} 2`)
  }
}

function appendOnce(tables: WriterTables, { samples, fails }: Exclude<Step, string>, known: Set<string>): void {
  const seen = new Set(known)
  const expected = samples.map((one) => {
    const fresh = keysOf(one).filter((key) => !seen.has(key))
    for (const key of fresh) seen.add(key)
    return fresh.reduce((bits, key) => bits | Number(key.split(' ')[2]), 0)
  })
  const work = tables.db.transaction(() => {
    const streams = tables.tail.append(batchOf(samples))
    assert.deepEqual([...streams], expected)
    if (fails) throw new Error('a later row of this transaction is refused')
  })
  try {
    work()
    tables.tail.committed()
    for (const key of seen) known.add(key)
  } catch (error) {
    if (!fails) throw error
    tables.tail.rolledBack()
  }
}

test('sequence numbers go on where they were, also when the log is empty', () => {
  const tables = open()
  tables.tail.append(
    batchOf([
      [1, 10, 1],
      [1, 20, 1],
    ]),
  )
  tables.tail.append(batchOf([[1, 30, 1]]))
  const seqs = () =>
    tables.all<{ seq: number }>('SELECT first_seq AS seq FROM telemetry_log ORDER BY first_seq').map(({ seq }) => seq)
  assert.deepEqual(seqs(), [1, 3])
  tables.run('UPDATE telemetry_log_end SET next_seq = 4')
  tables.run('DELETE FROM telemetry_log')
  tables.tail.forget()
  tables.tail.append(batchOf([[1, 40, 1]]))
  assert.deepEqual(seqs(), [4])
})

test('a row of the log that cannot be read costs its own samples, not those of others', () => {
  const tables = open()
  tables.tail.append(batchOf([[1, 10, 1]]))
  tables.tail.append(batchOf([[1, 20, 1]]))
  tables.run(`UPDATE telemetry_log SET samples = zeroblob(length(samples)) WHERE first_seq = 1`)
  tables.tail.forget()
  assert.deepEqual(
    [
      ...tables.tail.append(
        batchOf([
          [1, 10, 1],
          [1, 20, 1],
          [1, 30, 1],
        ]),
      ),
    ],
    [1, 0, 1],
  )
  assert.deepEqual(
    tables.all<{ seq: number }>('SELECT first_seq AS seq FROM telemetry_log ORDER BY 1').map(({ seq }) => seq),
    [1, 2, 3],
  )
})

test('blocks that were not deleted after all are remembered', () => {
  const tables = open()
  putBlocks(tables, [10, 20], new Set())
  const deletion = tables.db.transaction(() => {
    tables.run('DELETE FROM telemetry_block')
    assert.equal(tables.tail.bounds('gps', 1), null)
    throw new Error('a later step is refused')
  })
  assert.throws(() => deletion(), /a later step/)
  tables.tail.rolledBack()
  assert.deepEqual([...tables.tail.append(batchOf([[1, 20, 1]]))], [0])
})

test('after rows were dropped it remembers what it would read', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(sample, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 }),
      fc.nat(12),
      fc.array(fc.nat(12), { maxLength: 3 }),
      fc.array(sample, { maxLength: 20 }),
      (rows, droppedRows, kept, later) => {
        const tables = open()
        for (const row of rows) tables.tail.append(batchOf(row))
        const seqs = tables
          .all<{ seq: number }>('SELECT first_seq AS seq FROM telemetry_log ORDER BY 1')
          .map(({ seq }) => seq)
        const drop = {
          fromSeq: 0,
          throughSeq: seqs[Math.min(droppedRows, seqs.length - 1)] ?? 0,
          keptSeqs: kept.map((i) => seqs[i] ?? 0),
          limit: 2,
        }
        while (!dropLog(tables, drop).isDone);
        const fresh = new WriterTables(tables.db)
        for (const deviceId of [1, 2, 3]) {
          for (const stream of ['gps', 'battery'] as const)
            assert.deepEqual(tables.tail.bounds(stream, deviceId), fresh.tail.bounds(stream, deviceId))
        }
        const flags = tables.tail.append(batchOf(later))
        tables.run('DELETE FROM telemetry_log WHERE first_seq > ?', seqs.at(-1) ?? 0)
        assert.deepEqual(flags, fresh.tail.append(batchOf(later)))
        tables.close()
      },
    ),
    { numRuns: 100 },
  )
})
