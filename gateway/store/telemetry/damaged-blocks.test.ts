import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { BlockTable, blockOf } from '#testing/block-table.ts'
import { flipBit, flipLinkBit } from '#testing/damage/flip-bit.ts'
import { deleteDevice } from '../tables/devices.ts'
import { damagedBlocks, quarantineBlocks } from './damaged-blocks.ts'
import { deleteDeviceTelemetryStep, purgeTelemetryStep } from './deletion.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-damage-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

function open(t: TestContext): BlockTable {
  const table = new BlockTable(join(newFolder(t), 'cartbarn.db'))
  t.after(() => table.close())
  return table
}

function times(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i)
}

const purge = ({ connection }: BlockTable, beforeMs: number) =>
  connection.db.transaction(() => purgeTelemetryStep(connection, { beforeMs, nowMs: 0 }))()

const quarantine = ({ connection }: BlockTable, ...blockIds: number[]) =>
  connection.db.transaction(() => quarantineBlocks(connection, { blockIds, nowMs: NOW_MS }))()

const BLOCK = blockOf('gps', times(2000, 1000))

for (const [what, place, flip] of [
  ['any bit of a block', fc.tuple(fc.nat({ max: BLOCK.length - 1 }), fc.nat({ max: 7 })), flipBit],
  ['any bit that links its pages', fc.tuple(fc.constant(6000), fc.nat({ max: 31 })), flipLinkBit],
] as const) {
  test(`flipping ${what} is detected and loses only that block, which can be stored again`, (t) => {
    const folder = newFolder(t)
    const [original, path] = [join(folder, 'original.db'), join(folder, 'cartbarn.db')]
    const prepared = new BlockTable(original)
    const [mine, other] = [prepared.newDevice(), prepared.newDevice()]
    prepared.addBlock(mine, 'gps', times(1000, 1000))
    const damagedId = prepared.addBlock(mine, 'gps', times(2000, 1000))
    prepared.addBlock(mine, 'gps', times(3000, 1000))
    prepared.addBlock(other, 'gps', times(2100, 1000))
    prepared.connection.db.pragma('wal_checkpoint(TRUNCATE)')
    prepared.close()
    const judge = (table: BlockTable) => {
      const purged = purge(table, 2500)
      const [unreadable] = purged.unreadable
      assert.equal(unreadable?.blockId, damagedId)
      // the other device's block is cut in the same step
      assert.deepEqual([purged.gps, purged.isDone], [1400, true])
      assert.deepEqual(table.blockTimes(other, 'gps'), times(2500, 600))
      const { reason } = unreadable
      const range = { count: 1000, firstMs: 2000, lastMs: 2999 }
      const expected = { blockId: damagedId, deviceId: mine, hardwareId: 'cart-1', stream: 'gps', ...range }
      assert.deepEqual(quarantine(table, damagedId).moved, [{ ...expected, reason, foundAtMs: NOW_MS }])
      for (const id of [mine, other]) table.assertCounted(id)
      assert.deepEqual(purge(table, 2500).unreadable, [])
      // the device sends it again
      table.addBlock(mine, 'gps', times(2500, 500))
      table.assertCounted(mine)
      assert.deepEqual(table.blockTimes(mine, 'gps'), times(2500, 1500))
      assert.equal(table.connection.db.pragma('integrity_check', { simple: true }), 'ok')
    }
    fc.assert(
      fc.property(place, ([byte, bit]) => {
        copyFileSync(original, path)
        flip(path, BLOCK, byte, bit)
        const table = new BlockTable(path)
        try {
          judge(table)
        } finally {
          table.close()
          for (const file of [`${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
        }
      }),
      { numRuns: 25 },
    )
  })
}

test('a quarantined block is kept unchanged', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  const bytes = blockOf('battery', [10, 20, 30])
  bytes[40] = (bytes[40] ?? 0) ^ 1
  const blockId = table.addBytes({ deviceId, stream: 'battery', firstMs: 10, lastMs: 30, count: 3 }, bytes)
  quarantine(table, blockId)
  const kept = table.connection.get<{ records: Uint8Array }>('SELECT records FROM damaged_block')
  assert.deepEqual(Uint8Array.from(kept?.records ?? []), bytes)
  const [newest] = damagedBlocks(table.connection).newest
  assert.deepEqual(newest, {
    blockId,
    deviceId,
    stream: 'battery',
    firstMs: 10,
    lastMs: 30,
    count: 3,
    hardwareId: 'cart-1',
    reason: 'wrong_checksum',
    foundAtMs: NOW_MS,
  })
})

test('quarantining an intact or missing block has no effect', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  const blockId = table.addBlock(deviceId, 'gps', [10, 20])
  assert.deepEqual(quarantine(table, blockId, blockId + 1), {
    moved: [],
    newer: [],
    intact: [blockId],
    dropped: 0,
  })
  assert.deepEqual(table.times(deviceId, 'gps'), [10, 20])
  table.assertCounted(deviceId)
})

for (const [what, row] of [
  ['count', { firstMs: 10, lastMs: 30, count: 4 }],
  ['first time', { firstMs: 9, lastMs: 30, count: 3 }],
  ['last time', { firstMs: 10, lastMs: 31, count: 3 }],
  ['stream', { firstMs: 10, lastMs: 30, count: 3, stream: 'battery' as const }],
] as const) {
  test(`an intact block under a row with another ${what} is damaged`, (t) => {
    const table = open(t)
    const deviceId = table.newDevice()
    const blockId = table.addBytes({ deviceId, stream: 'gps', ...row }, blockOf('gps', [10, 20, 30]))
    assert.deepEqual(purge(table, 20).unreadable, [{ blockId, reason: 'impossible_content' }])
    assert.equal(quarantine(table, blockId).moved[0]?.reason, 'impossible_content')
  })
}

test('counts stay right together with the log, and are never negative', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  table.addBlock(deviceId, 'gps', [10, 20])
  const broken = { deviceId, stream: 'gps' as const, firstMs: 30, lastMs: 40, count: 2 }
  const blockId = table.addBytes(broken, new Uint8Array([1, 2, 3]))
  table.connection.run('UPDATE device_state SET gps_count = 4, gps_last_ms = 40')
  table.log(deviceId, 'gps', [25])
  quarantine(table, blockId)
  table.assertCounted(deviceId)
  const uncounted = table.addBytes({ ...broken, count: 100 }, new Uint8Array([1, 2, 3]))
  quarantine(table, uncounted)
  assert.equal(table.connection.get<{ n: number }>('SELECT gps_count AS n FROM device_state')?.n, 0)
})

test('the newest thousand are kept', (t) => {
  const table = open(t)
  const deviceId = table.newDevice()
  const add = (from: number, count: number): number[] =>
    table.connection.db.transaction(() =>
      times(from, count).map((i) =>
        table.addBytes({ deviceId, stream: 'gps', firstMs: i, lastMs: i, count: 1 }, new Uint8Array([i % 256])),
      ),
    )()
  assert.equal(quarantine(table, ...add(0, 990)).dropped, 0)
  assert.equal(quarantine(table, ...add(990, 20)).dropped, 10)
  const { blocks, records, newest } = damagedBlocks(table.connection)
  assert.deepEqual([blocks, records, newest.length], [1000, 1000, 20])
  assert.equal(newest[0]?.firstMs, 1009)
  assert.equal(table.connection.get<{ at: number }>('SELECT min(first_ms) AS at FROM damaged_block')?.at, 10)
})

test('quarantined blocks are deleted by age, by device and with the device', (t) => {
  const table = open(t)
  const ids = [table.newDevice('cart-1'), table.newDevice('cart-2'), table.newDevice('cart-3')]
  for (const deviceId of ids) {
    for (const stream of ['gps', 'battery'] as const) {
      for (const firstMs of [10, 30]) {
        const row = { deviceId, stream, firstMs, lastMs: firstMs + 5, count: 2 }
        quarantine(table, table.addBytes(row, new Uint8Array([0])))
      }
    }
  }
  const left = () => damagedBlocks(table.connection).blocks
  assert.equal(left(), 12)
  assert.deepEqual([purge(table, 15).damagedBlocks, left()], [0, 12])
  const purged = purge(table, 16)
  assert.deepEqual([purged.damagedBlocks, purged.gps, left()], [6, 0, 6])
  const [first = 0] = ids
  const erased = deleteDeviceTelemetryStep(table.connection, { deviceId: first, streams: ['gps'] })
  assert.deepEqual([erased.damagedBlocks, left()], [1, 5])
  deleteDevice(table.connection, { hardwareId: 'cart-2', nowMs: 0 })
  assert.ok(damagedBlocks(table.connection).newest.some(({ hardwareId }) => hardwareId === null))
  const [, second = 0] = ids
  deleteDeviceTelemetryStep(table.connection, { deviceId: second, streams: ['gps', 'battery'] })
  assert.equal(left(), 3)
})

test('the test helper flips a bit', (t) => {
  const path = join(newFolder(t), 'file')
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i)
  writeFileSync(path, bytes)
  flipBit(path, bytes.subarray(20, 80), 30, 3)
  bytes[50] = 50 ^ 8
  assert.deepEqual(Uint8Array.from(readFileSync(path)), bytes)
})
