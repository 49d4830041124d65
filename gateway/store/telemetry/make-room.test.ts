import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BlockTable } from '#testing/block-table.ts'
import { deleteSentBlocks, dropUnsentBlocks } from './make-room.ts'

function open(t: TestContext): BlockTable {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-relief-'))
  const table = new BlockTable(join(folder, 'cartbarn.db'))
  t.after(() => {
    table.close()
    rmSync(folder, { recursive: true })
  })
  return table
}

function addUnsent(table: BlockTable, deviceId: number, times: readonly number[]): number {
  const blockId = table.addBlock(deviceId, 'gps', times)
  table.connection.run('INSERT INTO block_log (block_id) VALUES (?)', blockId)
  return blockId
}

const gapsIn = ({ connection }: BlockTable) =>
  connection
    .all<{ body: string }>(`SELECT body FROM note WHERE kind = 'gap' ORDER BY seq`)
    .map(({ body }) => JSON.parse(body))

test('chosen blocks that are unsent or already deleted are skipped', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  const sent = table.addBlock(deviceId, 'gps', [1, 2, 3])
  const battery = table.addBlock(deviceId, 'battery', [1, 2])
  const unsent = addUnsent(table, deviceId, [4, 5])
  const blockIds = [sent, battery, unsent, 4711]
  assert.deepEqual(deleteSentBlocks(table.connection, { blockIds }), { gps: 3, battery: 2 })
  assert.deepEqual(table.times(deviceId, 'gps'), [4, 5])
  table.assertCounted(deviceId)
  assert.deepEqual(gapsIn(table), [])
})

test('dropped unsent records are noted with devices, times and counts, and can then be deleted', (t) => {
  const table = open(t)
  const [one, two] = [table.newDevice(), table.newDevice()]
  const blockIds = [
    addUnsent(table, one, [10, 20]),
    addUnsent(table, two, [15, 25, 35]),
    // acknowledged and deleted since it was chosen
    table.addBlock(two, 'gps', [40]),
    4711,
  ]
  assert.deepEqual(dropUnsentBlocks(table.connection, { blockIds, nowMs: 99 }), { gps: 5, battery: 0 })
  assert.deepEqual(gapsIn(table), [
    {
      stream: 'gps',
      from_ms: 10,
      to_ms: 35,
      count: 5,
      hardware_ids: ['cart-1', 'cart-2'],
      reason: 'disk',
    },
  ])
  assert.deepEqual(table.connection.all('SELECT * FROM block_log'), [])
  assert.deepEqual(deleteSentBlocks(table.connection, { blockIds }), { gps: 6, battery: 0 })
  table.assertCounted(one)
  table.assertCounted(two)
})

test('blocks of a deleted device are deleted without a note, since all of them are erased', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  const blockId = addUnsent(table, deviceId, [1, 2])
  table.connection.run('DELETE FROM device WHERE device_id = ?', deviceId)
  dropUnsentBlocks(table.connection, { blockIds: [blockId], nowMs: 0 })
  assert.deepEqual(gapsIn(table), [])
  assert.deepEqual(deleteSentBlocks(table.connection, { blockIds: [blockId] }), { gps: 0, battery: 0 })
  assert.deepEqual(table.blockTimes(deviceId, 'gps'), [])
})
