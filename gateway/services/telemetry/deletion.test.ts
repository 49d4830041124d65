import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS } from '#shared/time.ts'
import { logBlock } from '#store/ledger/gaps.ts'
import type { BlockTable } from '#testing/block-table.ts'
import { openTelemetryParts } from '#testing/telemetry-parts.ts'
import { blocksIn } from '#testing/telemetry-tables.ts'

const NOW_MS = new FakeClock().nowMs()
const OLD_MS = NOW_MS - 40 * DAY_MS

/** Adds many short blocks, which take many steps to delete. */
function addBlocks(table: BlockTable, deviceId: number, count: number): void {
  for (let i = 0; i < count; i++) table.addBlock(deviceId, 'gps', [OLD_MS + i])
}

test('a purge deletes records in the log as well, and later sealing does not bring them back', async (t) => {
  let deviceId = 0
  const { table, telemetry, maintenance } = await openTelemetryParts(t, (prepared) => {
    deviceId = prepared.newDevice()
    prepared.addBlock(deviceId, 'gps', [OLD_MS, OLD_MS + 1])
    prepared.log(deviceId, 'gps', [OLD_MS + 2, OLD_MS + 3, NOW_MS - 1])
    prepared.log(deviceId, 'battery', [OLD_MS + 2, NOW_MS - 1])
  })
  const { purged } = await telemetry.purge(30)
  assert.deepEqual(purged, { gps: 4, battery: 1 })
  await maintenance.take(async () => table.seal())
  assert.deepEqual(table.times(deviceId, 'gps'), [NOW_MS - 1])
  assert.deepEqual(table.times(deviceId, 'battery'), [NOW_MS - 1])
  table.assertCounted(deviceId)
  assert.deepEqual(telemetry.deleted.entries(), [
    ['purge', 5],
    ['erasure', 0],
    ['retention', 0],
  ])
})

test('an erasure includes the log and leaves the other stream and other devices alone', async (t) => {
  const ids: number[] = []
  const { table, telemetry, of } = await openTelemetryParts(t, (prepared) => {
    for (let i = 0; i < 2; i++) {
      const id = prepared.newDevice()
      ids.push(id)
      for (const stream of ['gps', 'battery'] as const) {
        prepared.addBlock(id, stream, [1, 2])
        prepared.log(id, stream, [3])
      }
    }
  })
  const [mine = 0, other = 0] = ids
  assert.deepEqual(await telemetry.deleteOf(of(mine), ['gps']), { gps: 3, battery: 0 })
  assert.deepEqual([table.times(mine, 'gps'), table.times(mine, 'battery')], [[], [1, 2, 3]])
  assert.deepEqual(table.times(other, 'gps'), [1, 2, 3])
  for (const id of ids) table.assertCounted(id)
})

test('the head office receives an erasure with its end; data that came later stays', async (t) => {
  let deviceId = 0
  const { table, telemetry, sealing, store, of } = await openTelemetryParts(t, (prepared) => {
    deviceId = prepared.newDevice()
    for (let i = 0; i < 100; i++) prepared.addBlock(deviceId, 'gps', [10 + i])
    prepared.log(deviceId, 'gps', [200])
  })
  sealing.sealNow = async () => {
    table.seal()
    for (const { blockId } of blocksIn(table.connection)) logBlock(table.connection, blockId)
    // added while the log was sealed
    table.log(deviceId, 'gps', [300, 301])
    table.log(deviceId, 'battery', [300])
  }
  const { write } = store
  let ends = store.read.syncEnds()
  t.mock.method(store, 'write', async (...args: Parameters<typeof write>) => {
    const [name] = args
    const result = await write.apply(store, args)
    if (name !== 'beginErasure') return result
    ends = store.read.syncEnds()
    const samples = Float64Array.of(deviceId, 400, 1, 1, Number.NaN, Number.NaN)
    await write.call(store, 'importTelemetry', { deviceId, samples })
    return result
  })
  assert.deepEqual(await telemetry.deleteOf(of(deviceId), ['gps']), { gps: 103, battery: 0 })
  assert.deepEqual(table.times(deviceId, 'gps'), [400])
  assert.deepEqual(table.times(deviceId, 'battery'), [300])
  table.assertCounted(deviceId)
  const sql = 'SELECT seq, kind, body FROM note'
  const [note, ...others] = table.connection.all<{ seq: number; kind: string; body: string }>(sql)
  assert.ok(note !== undefined && others.length === 0)
  assert.equal(note.kind, 'erase')
  assert.deepEqual(JSON.parse(note.body), {
    hardware_id: 'cart-1',
    kinds: ['gps'],
    telemetry_through: ends.telemetry,
    history_through: ends.history,
  })
  assert.deepEqual(table.connection.all('SELECT * FROM erase_mark'), [
    { noteSeq: note.seq, telemetrySeq: ends.telemetry, historySeq: ends.history },
  ])
})

test('a deletion waits while another job holds the maintenance lock', async (t) => {
  let deviceId = 0
  const { table, telemetry, maintenance, of } = await openTelemetryParts(t, (prepared) => {
    deviceId = prepared.newDevice()
    prepared.addBlock(deviceId, 'gps', [OLD_MS])
  })
  let finish = () => {}
  const turn = maintenance.take(() => new Promise<void>((resolve) => (finish = resolve)))
  const deletions = [telemetry.purge(30), telemetry.deleteOf(of(deviceId), ['gps'])]
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  assert.deepEqual(table.times(deviceId, 'gps'), [OLD_MS])
  finish()
  await Promise.all([turn, ...deletions])
  assert.deepEqual(table.times(deviceId, 'gps'), [])
})

test('a long purge lets other jobs run between its steps, and concurrent purges share the count', async (t) => {
  let deviceId = 0
  const { table, telemetry, maintenance } = await openTelemetryParts(t, (prepared) => {
    deviceId = prepared.newDevice()
    addBlocks(prepared, deviceId, 4000)
  })
  const first = telemetry.purge(30)
  const turn = maintenance.take(async () => table.times(deviceId, 'gps').length)
  const purges = [first, telemetry.purge(30)]
  const left = await turn
  assert.ok(left > 0 && left < 4000, `${left} left`)
  const counts = (await Promise.all(purges)).map(({ purged }) => purged.gps)
  assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), 4000)
  table.assertCounted(deviceId)
})

test('a damaged block that contains the cutoff is quarantined, and the purge continues', async (t) => {
  const ids: number[] = []
  const { table, telemetry, damage, lines } = await openTelemetryParts(t, (prepared) => {
    for (let i = 0; i < 3; i++) ids.push(prepared.newDevice())
    const [first = 0, second = 0, third = 0] = ids
    const damaged = { deviceId: second, stream: 'gps' as const, firstMs: OLD_MS, lastMs: NOW_MS, count: 9 }
    prepared.addBytes(damaged, new Uint8Array(100))
    prepared.connection.run('UPDATE device_state SET gps_count = 9 WHERE device_id = ?', second)
    for (const id of [first, third]) prepared.addBlock(id, 'gps', [OLD_MS, NOW_MS])
  })
  assert.deepEqual((await telemetry.purge(30)).purged, { gps: 2, battery: 0 })
  const [newest] = damage.summary.newest
  assert.deepEqual([newest?.hardwareId, newest?.count, newest?.reason], ['cart-2', 9, 'not_a_block'])
  for (const id of ids) table.assertCounted(id)
  const shown = lines.filter(({ level }) => level === 'error').map(({ hardwareId, records }) => [hardwareId, records])
  assert.deepEqual(shown, [['cart-2', 9]])
})
