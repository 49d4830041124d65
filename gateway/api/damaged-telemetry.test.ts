import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { BlockTable } from '#testing/block-table.ts'
import { scene } from '#testing/scene.ts'
import { metric } from '#testing/start-gateway.ts'

const FIRST_MS = Date.UTC(2026, 3, 1)
const { g, keys } = scene({ isRealTime: true, devices: ['cart-1'], inScope: ['cart-1'] })
const health = async (key: string | null) => (await g.get('/health', { key })).body

/** Damages a block of `cart-1` beyond recognition, with the middle of three days inside. */
function damage(): void {
  const table = new BlockTable(join(g.config.dataDir, 'cartbarn.db'))
  const device = table.connection.get<{ id: number }>('SELECT device_id AS id FROM device')
  table.addBytes(
    { deviceId: device?.id ?? 0, stream: 'gps', firstMs: FIRST_MS, lastMs: Date.now(), count: 700 },
    new Uint8Array(99),
  )
  table.connection.run('UPDATE device_state SET gps_count = 700, gps_first_ms = ?', FIRST_MS)
  table.close()
}

test('damage is shown to admins in /health and in the metrics, until the device is deleted', async () => {
  assert.equal('damaged_telemetry' in (await health(keys.admin)), false)
  assert.equal(await metric(g, 'cartbarn_damaged_blocks'), 0)
  assert.equal(await metric(g, 'cartbarn_unreadable_blocks_total', 'not_a_block'), 0)
  await g.restart(damage)

  await g.post('/telemetry/purge', { older_than_days: 1 })
  await eventually(async () => (await metric(g, 'cartbarn_damaged_blocks')) === 1, 'the damaged blocks are detached')
  const { status, damaged_telemetry: damaged } = await health(keys.admin)
  const [{ found_at: foundAt, to, ...newest }] = damaged.newest
  assert.deepEqual([status, damaged.blocks, damaged.records], ['ok', 1, 700])
  assert.deepEqual(newest, {
    hardware_id: 'cart-1',
    stream: 'gps',
    from: toIso(FIRST_MS),
    records: 700,
    reason: 'not_a_block',
  })
  assert.ok(foundAt >= to)
  assert.equal(await metric(g, 'cartbarn_unreadable_blocks_total', 'not_a_block'), 1)
  assert.equal((await g.get('/devices/cart-1/telemetry/stats')).body.gps, 0)

  for (const who of ['nobody', 'in scope'] as const)
    assert.deepEqual(Object.keys(await health(keys[who])).sort(), ['clock', 'status', 'timestamp'])
  await g.restart()
  assert.equal((await health(keys.admin)).damaged_telemetry.blocks, 1)

  await g.remove('/devices/cart-1')
  await eventually(async () => !('damaged_telemetry' in (await health(keys.admin))), 'it is deleted')
  assert.equal(await metric(g, 'cartbarn_damaged_blocks'), 0)
})
