import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnreadableBlock } from '#store/telemetry/unreadable-block.ts'
import { openTelemetryParts } from '#testing/telemetry-parts.ts'
import { BlockDamage } from './block-damage.ts'

const wrongChecksum = (blockId: number): UnreadableBlock => ({ blockId, reason: 'wrong_checksum' })

test('a damaged block reported by many readers is quarantined, logged and counted once', async (t) => {
  let [deviceId, blockId] = [0, 0]
  const { table, damage, maintenance, lines } = await openTelemetryParts(t, (prepared) => {
    deviceId = prepared.newDevice()
    prepared.addBlock(deviceId, 'gps', [1, 2])
    blockId = prepared.addBytes({ deviceId, stream: 'gps', firstMs: 10, lastMs: 20, count: 2 }, new Uint8Array(60))
    prepared.connection.run('UPDATE device_state SET gps_count = 4')
  })
  for (let i = 0; i < 100; i++) damage.report([wrongChecksum(blockId), wrongChecksum(blockId)])
  await maintenance.idle()
  damage.report([wrongChecksum(blockId)])
  await maintenance.idle()
  assert.deepEqual([damage.summary.blocks, damage.summary.records], [1, 2])
  // the reason found by the check, not the reported one
  assert.deepEqual([damage.unreadable.get('not_a_block'), damage.unreadable.get('wrong_checksum')], [1, 0])
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
  table.assertCounted(deviceId)
})

test('an intact block is kept, even if a reader reports it', async (t) => {
  let [deviceId, blockId] = [0, 0]
  const { table, damage, maintenance } = await openTelemetryParts(t, (prepared) => {
    deviceId = prepared.newDevice()
    blockId = prepared.addBlock(deviceId, 'gps', [1, 2])
  })
  damage.report([wrongChecksum(blockId)])
  await maintenance.idle()
  assert.deepEqual([damage.summary.blocks, damage.unreadable.get('misread')], [0, 1])
  assert.deepEqual(table.times(deviceId, 'gps'), [1, 2])
})

test('blocks of a newer version are counted, logged in one line and never changed', async (t) => {
  const { damage, maintenance, lines } = await openTelemetryParts(t, () => {})
  for (let i = 0; i < 3; i++) {
    damage.report([1, 2, 3].map((blockId) => ({ blockId, reason: 'newer_version' })))
  }
  await maintenance.idle()
  assert.deepEqual([damage.summary.blocks, damage.unreadable.get('newer_version')], [0, 3])
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
})

test('hundreds of damaged blocks are quarantined in several writes; the next start knows them', async (t) => {
  const ids: number[] = []
  const { damage, store, maintenance, clock, log, telemetry, of } = await openTelemetryParts(t, (prepared) => {
    const deviceId = prepared.newDevice()
    for (let i = 0; i < 200; i++) {
      const row = { deviceId, stream: 'gps' as const, firstMs: i, lastMs: i, count: 1 }
      ids.push(prepared.addBytes(row, new Uint8Array([i])))
    }
  })
  damage.report(ids.map(wrongChecksum))
  await maintenance.idle()
  assert.equal(damage.summary.blocks, 200)
  const next = new BlockDamage({ store, maintenance, clock, log })
  next.load()
  assert.deepEqual(next.summary, damage.summary)
  // an erasure deletes them too
  await telemetry.deleteOf(of(1), ['gps'])
  assert.equal(damage.summary.blocks, 0)
})

test('a block that cannot be quarantined now is tried again when it is reported again', async (t) => {
  let blockId = 0
  const { table, damage, maintenance, lines } = await openTelemetryParts(t, (prepared) => {
    const deviceId = prepared.newDevice()
    const row = { deviceId, stream: 'gps' as const, firstMs: 1, lastMs: 1, count: 1 }
    blockId = prepared.addBytes(row, new Uint8Array([1]))
  })
  // another program holds the database
  table.connection.db.exec('BEGIN IMMEDIATE')
  damage.report([wrongChecksum(blockId)])
  await maintenance.idle()
  assert.ok(lines.some(({ msg }) => msg === 'quarantining damaged blocks failed; will retry when they are read'))
  assert.equal(damage.summary.blocks, 0)
  table.connection.db.exec('ROLLBACK')
  while (damage.summary.blocks === 0) {
    damage.report([wrongChecksum(blockId)])
    await maintenance.idle()
    await new Promise(setImmediate)
  }
  assert.equal(damage.unreadable.get('wrong_length'), 1)
})
