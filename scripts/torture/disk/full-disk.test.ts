import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import { FaultyGateway } from './faulty-gateway.ts'

const disk = mkdtempSync(join(tmpdir(), 'cartbarn-disk-'))
const dataDir = join(disk, 'data')
const filler = join(disk, 'filler')
// root is permitted to mount, except perhaps in a container; the faults of faults.test.ts need no rights
const skip = mount('-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk) ? false : 'no right to mount'

function mount(...args: string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0
}

/** Leaves not one byte free. */
function fillUp(): void {
  const file = openSync(filler, 'a')
  try {
    for (;;) writeSync(file, Buffer.alloc(64 * 1024))
  } catch (error) {
    assert.match(String(error), /ENOSPC/)
  } finally {
    closeSync(file)
  }
}

/** Exit code of a start that fails, and the reason it gives. */
async function failedStart(folder: string): Promise<{ code: number | null; reason: string }> {
  const gateway = FaultyGateway.spawn(folder)
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
    spawnSync('umount', [disk])
    rmSync(disk, { recursive: true, force: true })
  })

  test('a running gateway waits for space, with everything readable, and recovers automatically', async () => {
    const device = await gateway.device('cart-1')
    device.publish(5)
    await device.allAcknowledged()
    fillUp()
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

    rmSync(filler)
    await device.allAcknowledged()
    await eventually(() => gateway.isHealthy(), 'good health')
    assert.ok((await channel.flush()).some(({ type }) => type === 'device_data'))
    assert.ok(device.isConnected)
    const { body } = await gateway.request('GET', '/stats')
    assert.equal(body.telemetry.gps, device.acknowledged.length)
  })

  test('a gateway that stops on a full disk keeps what it acknowledged', async () => {
    const { gps } = (await gateway.request('GET', '/stats')).body.telemetry
    fillUp()
    assert.equal(await gateway.stop('SIGTERM'), 0)
    // the log is gone, and its space with it
    fillUp()
    const { code, reason } = await failedStart(dataDir)
    assert.equal(code, 1)
    assert.match(reason, /cannot be (used|written).*(full|I\/O)/)
    rmSync(filler)
    gateway = await FaultyGateway.start(dataDir)
    assert.equal((await gateway.request('GET', '/stats')).body.telemetry.gps, gps)
  })

  test('a first start on a full disk reports that, and its leftovers do not block the next start', async () => {
    await gateway.stop()
    fillUp()
    const folder = join(disk, 'new')
    const { code, reason } = await failedStart(folder)
    assert.equal(code, 1)
    assert.match(reason, /full|I\/O|ENOSPC/)
    rmSync(filler)
    gateway = await FaultyGateway.start(folder)
    assert.equal((await gateway.register('cart-1')).status, 201)
    await gateway.stop()
  })

  test('a start on a read-only disk reports that and changes nothing', async () => {
    assert.ok(mount('-o', 'remount,ro', disk))
    for (const folder of [dataDir, join(disk, 'never')]) {
      const { code, reason } = await failedStart(folder)
      assert.equal(code, 1)
      assert.match(reason, /read-?only/i)
    }
    assert.ok(mount('-o', 'remount,rw', disk))
    assert.equal(existsSync(join(disk, 'never')), false)
    gateway = await FaultyGateway.start(dataDir)
    assert.equal((await gateway.request('GET', '/devices/cart-1')).status, 200)
    await gateway.stop()
    const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    db.close()
  })
})
