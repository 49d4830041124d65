import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import { FaultyGateway } from './faulty-gateway.ts'
import { SmallDisk } from './small-disk.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-disk-'))
const dataDir = join(folder, 'data')
// the faults of faults.test.ts need no rights
const disk = SmallDisk.mount(folder, 4)
const skip = disk === null && 'no right to mount'

/** Exit code of a start that fails, and the reason it gives. */
async function failedStart(path: string): Promise<{ code: number | null; reason: string }> {
  const gateway = FaultyGateway.spawn(path)
  try {
    const { reason } = await gateway.logged('not started')
    return { code: await gateway.exited, reason: String(reason) }
  } finally {
    // a gateway that did start must not keep the disk busy
    await gateway.stop()
  }
}

describe('a disk that is really full or read-only', { skip }, () => {
  let gateway: FaultyGateway

  before(async () => {
    gateway = await FaultyGateway.start(dataDir)
  })

  after(async () => {
    await gateway?.stop('SIGKILL')
    disk?.unmount()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a running gateway waits for space, with everything readable, and recovers automatically', async () => {
    const device = await gateway.device('cart-1')
    device.publish(5)
    await device.allAcknowledged()
    disk?.fill()
    // rows that still fit into the log may be stored
    await eventually(async () => {
      if (device.waiting === 0) device.publish(20)
      return !(await gateway.isHealthy())
    }, 'bad health')
    assert.match((await gateway.request('GET', '/health')).body.detail, /full/)
    assert.equal((await gateway.register('cart-2')).status, 503)
    for (const path of ['/devices', '/devices/cart-1/gps', '/devices/cart-1/gps/latest', '/stats', '/lock-events']) {
      assert.deepEqual([path, (await gateway.request('GET', path)).status], [path, 200])
    }
    const channel = await gateway.realtime()
    await channel.subscribe('cart-1')
    const { waiting } = device
    assert.ok(waiting > 0)

    disk?.empty()
    await device.allAcknowledged()
    await eventually(() => gateway.isHealthy(), 'good health')
    assert.ok((await channel.flush()).some(({ type }) => type === 'device_data'))
    assert.ok(device.isConnected)
    const { body } = await gateway.request('GET', '/stats')
    assert.equal(body.telemetry.gps, device.acknowledged.length)
  })

  test('a gateway that stops on a full disk keeps what it acknowledged', async () => {
    const { gps } = (await gateway.request('GET', '/stats')).body.telemetry
    disk?.fill()
    assert.equal(await gateway.stop('SIGTERM'), 0)
    // the log is gone, and its space with it
    disk?.fill()
    const { code, reason } = await failedStart(dataDir)
    assert.equal(code, 1)
    assert.match(reason, /cannot be (used|written).*(full|I\/O)/)
    disk?.empty()
    gateway = await FaultyGateway.start(dataDir)
    assert.equal((await gateway.request('GET', '/stats')).body.telemetry.gps, gps)
  })

  test('a first start on a full disk reports that, and its leftovers do not block the next start', async () => {
    await gateway.stop()
    disk?.fill()
    const other = join(folder, 'new')
    const { code, reason } = await failedStart(other)
    assert.equal(code, 1)
    assert.match(reason, /full|I\/O|ENOSPC/)
    disk?.empty()
    gateway = await FaultyGateway.start(other)
    assert.equal((await gateway.register('cart-1')).status, 201)
    await gateway.stop()
  })

  test('a start on a read-only disk reports that and changes nothing', async () => {
    disk?.remount('ro')
    for (const path of [dataDir, join(folder, 'never')]) {
      const { code, reason } = await failedStart(path)
      assert.equal(code, 1)
      assert.match(reason, /read-?only/i)
    }
    disk?.remount('rw')
    assert.equal(existsSync(join(folder, 'never')), false)
    gateway = await FaultyGateway.start(dataDir)
    assert.equal((await gateway.request('GET', '/devices/cart-1')).status, 200)
    await gateway.stop()
    const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    db.close()
  })
})
