import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import type { TelemetryStream } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { BlockTable, blockOf } from '#testing/block-table.ts'

import { logBlock } from '../ledger/gaps.ts'
import { Store } from '../store.ts'
import { deleteDevice } from '../tables/devices.ts'
import { quarantineBlocks } from './damaged-blocks.ts'
import {
  type BlockStream,
  deleteDeviceTelemetryStep,
  deleteTelemetryStep,
  type PurgePosition,
  type PurgeRequest,
  type PurgeStep,
  purgeTelemetryStep,
} from './deletion.ts'
import { WriterTables } from './log-tail.ts'

const STREAMS = ['gps', 'battery'] as const
const START_MS = Date.UTC(2026, 4, 1, 12)

function open(t: TestContext): BlockTable {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-blocks-'))
  const table = new BlockTable(join(folder, 'cartbarn.db'))
  t.after(() => {
    table.close()
    rmSync(folder, { recursive: true })
  })
  return table
}

/** Runs one step in a transaction, like the writer thread. */
function step(table: BlockTable, beforeMs: number, after: BlockStream | null): PurgeStep {
  const { connection } = table
  return connection.db.transaction(() => purgeTelemetryStep(connection, { beforeMs, after, nowMs: 0 }))()
}

/** Runs all steps of a purge. */
function purge(table: BlockTable, beforeMs: number) {
  const total = { gps: 0, battery: 0, damagedBlocks: 0, steps: 0, unreadable: [] as PurgeStep['unreadable'] }
  let after: BlockStream | null = null
  for (;;) {
    const done = step(table, beforeMs, after)
    total.gps += done.gps
    total.battery += done.battery
    total.damagedBlocks += done.damagedBlocks
    total.steps++
    total.unreadable.push(...done.unreadable)
    if (done.isDone) return total
    after = done.after
    assert.ok(total.steps < 10_000, 'a purge comes to an end')
  }
}

function timesFrom(fromMs: number, count: number, stepMs = 1000): number[] {
  return Array.from({ length: count }, (_, i) => fromMs + i * stepMs)
}

/** Gaps between the records of one stream, and the number of records in each block. */
const streamArbitrary = fc.array(
  fc.record({ gaps: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }) }),
  { maxLength: 60 },
)

test('a purge removes all older records, even if interrupted, and each step keeps the counts right', (t) => {
  const table = open(t)
  const ids = [table.newDevice(), table.newDevice(), table.newDevice()]
  fc.assert(
    fc.property(
      fc.array(streamArbitrary, { minLength: 6, maxLength: 6 }),
      fc.array(fc.integer({ min: -5, max: 6000 }), { maxLength: 6 }),
      fc.integer({ min: -1, max: 5000 }),
      fc.array(fc.boolean(), { maxLength: 12 }),
      (streams, logged, cutoff, interruptions) => {
        reset(table)
        for (const [i, blocks] of streams.entries()) {
          const [deviceId, stream] = [ids[i >> 1] ?? 0, STREAMS[i % 2] ?? 'gps']
          let atMs = START_MS
          for (const { gaps } of blocks) {
            table.addBlock(
              deviceId,
              stream,
              gaps.map((gap) => (atMs += gap)),
            )
          }
          const known = new Set(table.blockTimes(deviceId, stream))
          table.log(
            deviceId,
            stream,
            [...new Set(logged)].map((offset) => START_MS + offset).filter((at) => !known.has(at)),
          )
        }
        const beforeMs = START_MS + cutoff
        const inBlocks = (of: TelemetryStream) => ids.map((id) => table.blockTimes(id, of))
        const expected = { gps: inBlocks('gps'), battery: inBlocks('battery') }
        let after: BlockStream | null = null
        const removed = { gps: 0, battery: 0 }
        for (let steps = 0, isDone = false; !isDone; steps++) {
          const done = step(table, beforeMs, after)
          removed.gps += done.gps
          removed.battery += done.battery
          for (const id of ids) table.assertCounted(id)
          assert.deepEqual(done.unreadable, [])
          // an interrupted purge starts again
          after = interruptions[steps] === true ? null : done.after
          isDone = done.isDone
        }
        for (const stream of STREAMS) {
          const kept = expected[stream].map((times) => times.filter((at) => at >= beforeMs))
          assert.deepEqual(inBlocks(stream), kept)
          assert.equal(removed[stream], expected[stream].flat().length - kept.flat().length)
        }
      },
    ),
    { numRuns: 30 },
  )
})

function reset(table: BlockTable): void {
  table.connection.run('DELETE FROM telemetry_block')
  table.connection.run('DELETE FROM telemetry_log')
  table.connection.run('UPDATE telemetry_log_end SET saved_seq = 0')
  table.connection.tail.forget()
  table.connection.run(
    `UPDATE device_state SET gps_count = 0, gps_first_ms = NULL, gps_last_ms = NULL,
       battery_count = 0, battery_first_ms = NULL, battery_last_ms = NULL`,
  )
}

for (const [what, block, beforeMs, kept] of [
  ['at the first record: nothing goes', [10, 20, 30], 10, [10, 20, 30]],
  ['just behind the first record: it goes', [10, 20, 30], 11, [20, 30]],
  ['at a record inside: it stays', [10, 20, 30], 20, [20, 30]],
  ['between two records', [10, 20, 30], 25, [30]],
  ['at the last record: it alone stays', [10, 20, 30], 30, [30]],
  ['behind the last record: all goes', [10, 20, 30], 31, []],
  ['before the first record', [10, 20, 30], 9, [10, 20, 30]],
  ['at the only record', [10], 10, [10]],
  ['behind the only record', [10], 11, []],
  ['before the only record', [10], 9, [10]],
] as const) {
  test(`cutoff ${what}`, (t) => {
    const table = open(t)
    const deviceId = table.newDevice()
    table.addBlock(deviceId, 'gps', block)
    table.addBlock(deviceId, 'gps', [100, 200])
    const done = purge(table, beforeMs)
    assert.deepEqual([done.gps, done.battery], [block.length - kept.length, 0])
    assert.deepEqual(table.times(deviceId, 'gps'), [...kept, 100, 200])
    table.assertCounted(deviceId)
  })
}

test('repeating an earlier purge removes no records and rewrites no block', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  table.addBlock(deviceId, 'gps', timesFrom(START_MS, 100))
  purge(table, START_MS + 50_000)
  const ids = () => table.connection.all('SELECT block_id FROM telemetry_block')
  const before = ids()
  const again = purge(table, START_MS + 50_000)
  assert.deepEqual([again.gps, again.steps], [0, 1])
  assert.deepEqual(ids(), before)
})

test('a step is bounded, whatever there is to do', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  table.connection.db.transaction(() => {
    for (let i = 0; i < 1000; i++) table.addBlock(deviceId, 'gps', timesFrom(START_MS + i * 10, 2, 1))
    for (let i = 0; i < 1000; i++) table.addBlock(table.newDevice(), 'battery', [START_MS, START_MS + 100_000])
  })()
  const first = step(table, START_MS + 50_000, null)
  assert.ok(first.gps > 0 && first.gps <= 200, `${first.gps} records`)
  const { gps, battery, steps } = purge(table, START_MS + 50_000)
  assert.deepEqual([gps + first.gps, battery], [2000, 1000])
  assert.ok(steps > 100, `${steps} steps`)
})

test('a purge keeps unsent records, in bounded steps however many they are', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  const { connection } = table
  connection.db.transaction(() => {
    for (let i = 0; i < 3000; i++)
      logBlock(connection, table.addBlock(deviceId, 'gps', timesFrom(START_MS + i * 10, 2, 1)))
    for (let i = 3000; i < 3010; i++) table.addBlock(deviceId, 'gps', timesFrom(START_MS + i * 10, 2, 1))
    // blocks that the cutoff splits
    logBlock(connection, table.addBlock(deviceId, 'gps', [START_MS + 40_000, START_MS + 60_000]))
  })()
  let after: PurgePosition | null = null
  let steps = 0
  const removed: number[] = []
  for (let isDone = false; !isDone; steps++) {
    const request: PurgeRequest = { beforeMs: START_MS + 50_000, after, nowMs: 0, keepsUnsent: true }
    const done: PurgeStep = connection.db.transaction(() => purgeTelemetryStep(connection, request))()
    after = done.after
    isDone = done.isDone
    removed.push(done.gps)
  }
  assert.ok(steps > 5 && steps < 10, `${steps} steps`)
  assert.equal(
    removed.reduce((sum, count) => sum + count),
    20,
  )
  assert.equal(table.times(deviceId, 'gps').length, 6002)
  assert.deepEqual(connection.all('SELECT * FROM note'), [])
  // an admin's purge deletes it and notes the gap
  const purged = purge(table, START_MS + 50_000)
  assert.equal(purged.gps, 6001)
  const [note] = connection.all<{ body: string }>('SELECT body FROM note')
  assert.deepEqual(JSON.parse(note?.body ?? ''), {
    stream: 'gps',
    from_ms: START_MS,
    to_ms: START_MS + 40_000,
    count: 6001,
    hardware_ids: ['cart-1'],
    reason: 'purge',
  })
  assert.equal(connection.all('SELECT * FROM block_log').length, 1, 'what is left of the block that was cut')
})

test('thousands of devices without old records are passed over in a few steps', (t) => {
  const table = open(t)
  table.connection.db.transaction(() => {
    for (let i = 0; i < 2000; i++) table.addBlock(table.newDevice(), 'gps', [START_MS])
  })()
  const { gps, steps } = purge(table, START_MS)
  assert.equal(gps, 0)
  assert.ok(steps <= 6, `${steps} steps`)
})

test('finding work uses indexes only, so that its cost does not grow with the data', (t) => {
  // a new connection: one that has read before has prepared statements
  const connection = new WriterTables(open(t).connection.db)
  const statements: string[] = []
  const all = connection.statement.bind(connection)
  t.mock.method(connection, 'statement', (sql: string) => {
    statements.push(sql)
    return all(sql)
  })
  connection.db.transaction(() => purgeTelemetryStep(connection, { beforeMs: 1, nowMs: 0 }))()
  connection.db.transaction(() => deleteDeviceTelemetryStep(connection, { deviceId: 1, streams: ['gps', 'battery'] }))()
  const onBlocks = statements.filter((sql) => /telemetry_block|stored_block/.test(sql))
  assert.equal(onBlocks.length, 2, statements.join(';\n'))
  for (const sql of onBlocks) {
    const plan = connection.db
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array(sql.split('?').length - 1).fill(1))
      .map(({ detail }) => detail)
    assert.ok(!plan.some((line) => /SCAN (?:b|telemetry_block)\b|TEMP B-TREE/.test(line)), `${sql}: ${plan}`)
  }
})

test('records of a deleted device are purged but not counted, because they were not visible', (t) => {
  const table = open(t)
  const [gone, kept] = [table.newDevice('gone'), table.newDevice()]
  for (const id of [gone, kept]) for (const stream of STREAMS) table.addBlock(id, stream, [1, 2, 3])
  deleteDevice(table.connection, { hardwareId: 'gone', nowMs: 0 })
  const { gps, battery } = purge(table, 3)
  assert.deepEqual([gps, battery], [2, 2])
  assert.deepEqual(table.times(gone, 'gps'), [3])
  let steps = 0
  while (deleteTelemetryStep(table.connection, undefined)) steps++
  assert.equal(steps, 1)
  assert.deepEqual(table.times(gone, 'gps'), [])
  assert.deepEqual(table.times(kept, 'gps'), [3])
  assert.deepEqual(table.connection.all('SELECT * FROM telemetry_deletion'), [])
})

test('the records of one device are deleted for the given streams, in bounded steps', (t) => {
  const table = open(t)
  const [mine, other] = [table.newDevice(), table.newDevice()]
  for (const id of [mine, other]) {
    for (const stream of STREAMS) {
      for (let i = 0; i < 150; i++) table.addBlock(id, stream, timesFrom(START_MS + i * 10, 3, 1))
    }
  }
  const remove = (streams: readonly TelemetryStream[]) => {
    const total = { gps: 0, battery: 0, steps: 0 }
    for (;;) {
      const done = deleteDeviceTelemetryStep(table.connection, { deviceId: mine, streams })
      total.gps += done.gps
      total.battery += done.battery
      total.steps++
      for (const id of [mine, other]) table.assertCounted(id)
      if (done.isDone) return total
    }
  }
  assert.deepEqual(remove(['gps']), { gps: 450, battery: 0, steps: 3 })
  assert.deepEqual(remove(['gps', 'battery']), { gps: 0, battery: 450, steps: 3 })
  assert.equal(table.times(other, 'gps').length, 450)
})

test('records in the log stay counted when a device is erased', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  table.addBlock(deviceId, 'gps', [10, 20])
  table.log(deviceId, 'gps', [15, 30])
  assert.deepEqual(deleteDeviceTelemetryStep(table.connection, { deviceId, streams: ['gps'] }).gps, 2)
  assert.deepEqual(table.times(deviceId, 'gps'), [15, 30])
  table.assertCounted(deviceId)
})

test('a block of a newer version stays while the cutoff is inside it, and is deleted when all is old', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  table.addBlock(deviceId, 'gps', [10, 20])
  const blockId = table.addBytes(
    { deviceId, stream: 'gps', firstMs: 30, lastMs: 40, count: 2 },
    newerVersion(blockOf('gps', [30, 40])),
  )
  table.addBlock(deviceId, 'gps', [50, 60])
  const { gps, unreadable } = purge(table, 35)
  assert.deepEqual([gps, unreadable], [2, [{ blockId, reason: 'newer_version' }]])
  const judged = quarantineBlocks(table.connection, { blockIds: [blockId], nowMs: 0 })
  assert.deepEqual(judged, { moved: [], newer: [blockId], intact: [], dropped: 0 })
  assert.deepEqual(purge(table, 41).unreadable, [])
  assert.deepEqual(table.times(deviceId, 'gps'), [50, 60])
})

function newerVersion(block: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(block)
  const view = new DataView(copy.buffer)
  copy[3] = 2
  view.setUint32(copy.length - 4, crc32(copy.subarray(0, copy.length - 4)), true)
  return copy
}

test('deleted data leaves the file automatically', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-blocks-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const path = join(dataDir, 'cartbarn.db')
  const table = new BlockTable(path)
  const deviceId = table.newDevice()
  table.connection.db.transaction(() => {
    for (let i = 0; i < 600; i++) {
      table.addBlock(deviceId, 'gps', timesFrom(START_MS + i * MAX_BLOCK_RECORDS, MAX_BLOCK_RECORDS, 1))
    }
  })()
  table.connection.db.pragma('wal_checkpoint(TRUNCATE)')
  table.close()
  const sizeMb = () => statSync(path).size / 2 ** 20
  const fullMb = sizeMb()
  assert.ok(fullMb > 8, `${fullMb} MB`)
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, createLog('silent'))
  await store.start()
  t.after(() => store.stop())
  let after: BlockStream | null = null
  for (let isDone = false; !isDone; ) {
    const done: PurgeStep = await store.write('purgeTelemetryStep', {
      beforeMs: START_MS + 590.5 * MAX_BLOCK_RECORDS,
      after,
      nowMs: 0,
    })
    after = done.after
    isDone = done.isDone
  }
  await eventually(() => sizeMb() < 1.5, `the file shrinks from ${fullMb} MB`)
  assert.equal(store.read.fleetCounts().gps, 9.5 * MAX_BLOCK_RECORDS)
})
