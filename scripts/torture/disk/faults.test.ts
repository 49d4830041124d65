import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { eventually } from '#shared/testing/eventually.ts'
import type { RealtimeClient } from '#testing/realtime-client.ts'
import { compileDiskFaults, type DiskFault, DiskFaults } from './faults.ts'
import { type FaultyDevice, FaultyGateway } from './faulty-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-faults-'))
const dataDir = join(folder, 'data')
const library = compileDiskFaults(folder)
// in CI, where tests must not be skipped, there is a compiler
const skip = library === undefined && process.env.CI === undefined ? 'no C compiler' : false

/** Number of the newest payload that was kept. */
const KEPT_ROWS = 'SELECT ifnull(max(rowid), 0) FROM quarantine'
/** Limit for hundreds of commits, on a machine that may be busy. */
const CHECKPOINT_LIMIT_MS = 40_000

const FAULTS: Record<string, DiskFault> = {
  'a full disk': { write: 'ENOSPC' },
  'a full disk that takes half of a write': { write: 'ENOSPC', isShort: true },
  'a quota that is used up': { write: 'EDQUOT' },
  'a disk that became read-only': { write: 'EROFS' },
  'a disk with write errors': { write: 'EIO', isShort: true },
  'a disk whose failed syncs lose what was written': { sync: 'EIO', isLossy: true },
}

let gateway: FaultyGateway
let faults: DiskFaults
let devices: FaultyDevice[]
let realtime: RealtimeClient

describe('the disk fails under a running gateway', { skip }, () => {
  before(async () => {
    assert.ok(library !== undefined, 'cc cannot build faults.c')
    faults = new DiskFaults(library, folder, dataDir)
    gateway = await FaultyGateway.start(dataDir, faults.env)
    devices = await Promise.all(['cart-1', 'cart-2', 'cart-3'].map((id) => gateway.device(id)))
    realtime = await gateway.realtime()
    await realtime.subscribe('cart-1')
    await publishAll(3)
  })

  after(async () => {
    await gateway?.stop('SIGKILL')
    faults?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [name, fault] of Object.entries(FAULTS)) {
    test(`${name}: messages are acknowledged only once stored, reads work, and it recovers alone`, async () => {
      faults.set(fault)
      for (const device of devices) device.publish(4)
      await eventually(async () => !(await gateway.isHealthy()), 'bad health')
      await requireReadable()
      await requireUnwritable()
      await triedAgain()
      assert.deepEqual(
        devices.map(({ waiting }) => waiting),
        [4, 4, 4],
      )
      faults.clear()
      await recovered()
    })
  }

  test('a fault empties the log, so that a failed commit leaves none of its frames', async () => {
    const logBytes = () => statSync(join(dataDir, 'cartbarn.db-wal')).size
    await eventually(async () => {
      await publishAll(1)
      return logBytes() > 300_000
    }, 'long log')
    faults.set({ sync: 'EIO' })
    for (const device of devices) device.publish(1)
    await triedAgain()
    faults.clear()
    await recovered()
    await eventually(() => logBytes() < 200_000, 'short log')
  })

  test('a fault that only an API write meets shows in the health, and clears automatically', async () => {
    faults.set({ write: 'ENOSPC' })
    assert.equal((await gateway.register('cart-refused')).status, 503)
    assert.equal(await gateway.isHealthy(), false)
    await triedAgain()
    assert.equal(await gateway.isHealthy(), false)
    faults.clear()
    await eventually(() => gateway.isHealthy(), 'good health')
    assert.equal((await gateway.register('cart-refused')).status, 201)
  })

  test('an unreadable disk yields 503, while data in memory stays available', async () => {
    // a commit invalidates the pages that readers have cached
    await publishAll(1)
    faults.set({ read: 'EIO' })
    for (const path of [`/devices/cart-1/gps?${ALL}`, '/stats', '/lock-events']) {
      const { status, headers, body } = await gateway.request('GET', path)
      assert.deepEqual([path, status, headers.get('retry-after')], [path, 503, '5'])
      assert.equal(body.code, 'store_unavailable')
    }
    assert.equal((await gateway.request('GET', '/devices')).status, 200)
    assert.equal((await gateway.request('GET', '/devices/cart-1/gps/latest')).status, 200)
    await realtime.flush()
    faults.clear()
    await requireReadable()
  })

  test('a lock event that cannot be checked waits, without rejection or acknowledgement', async () => {
    await publishAll(1)
    faults.set({ read: 'EIO' })
    const [device] = devices
    assert.ok(device !== undefined)
    let isAcknowledged = false
    const acknowledged = device.publishLock(1).then(() => {
      isAcknowledged = true
    })
    await eventually(async () => !(await gateway.isHealthy()), 'bad health')
    assert.equal(isAcknowledged, false)
    faults.clear()
    await acknowledged
    await eventually(() => gateway.isHealthy(), 'good health')
    assert.equal((await gateway.request('GET', '/lock-events')).body.events.length, 1)
  })

  test('unfinished deletions resume when the disk is well again', async () => {
    const db = new Database(join(dataDir, 'cartbarn.db'))
    db.exec('INSERT INTO telemetry_deletion (device_id) VALUES (999999)')
    db.close()
    faults.set({ write: 'ENOSPC' })
    await gateway.register('cart-refused-too')
    assert.equal(inDatabase('SELECT count(*) FROM telemetry_deletion'), 1)
    faults.clear()
    await eventually(() => inDatabase('SELECT count(*) FROM telemetry_deletion') === 0, 'deletion')
  })

  test('the gateway waits for a database that another program has locked', async () => {
    const db = new Database(join(dataDir, 'cartbarn.db'))
    db.exec('BEGIN IMMEDIATE')
    for (const device of devices) device.publish(2)
    await eventually(async () => !(await gateway.isHealthy()), 'bad health')
    await requireReadable()
    assert.ok(devices.every(({ waiting }) => waiting === 2))
    db.close()
    await recovered()
  })

  test('a database that is moved or replaced accepts no writes until it is back', async () => {
    const [path, moved] = [join(dataDir, 'cartbarn.db'), join(dataDir, 'aside.db')]
    renameSync(path, moved)
    for (const device of devices) device.publish(2)
    await eventually(async () => /is gone/.test(await healthDetail()), 'bad health')
    copyFileSync(moved, path)
    await eventually(async () => /was replaced/.test(await healthDetail()), 'bad health')
    assert.ok(devices.every(({ waiting }) => waiting === 2))
    renameSync(moved, path)
    await recovered()
  })

  test('a slow disk delays acknowledgements, but not reads or the realtime channel', async () => {
    faults.set({ syncDelayMs: 100 })
    const startedAtMs = performance.now()
    for (const device of devices) device.publish(200)
    await requireReadable()
    const readMs = performance.now() - startedAtMs
    assert.ok(devices.some(({ waiting }) => waiting > 0))
    await Promise.all(devices.map((device) => device.allAcknowledged()))
    assert.ok(performance.now() - startedAtMs >= 100)
    assert.ok(readMs < 3_000, `${readMs} ms`)
    assert.equal(await gateway.isHealthy(), true)
    assert.ok((await gateway.metric('cartbarn_commit_p99_seconds')) >= 0.1)
    faults.clear()
  })

  test('a failed checkpoint is reported, loses no acknowledgement, and is repeated', async () => {
    faults.set({ sync: 'EIO', isLossy: true, suffix: '.db' })
    await eventually(
      async () => {
        await publishPages()
        return gateway.log.some(
          ({ msg }) => msg === 'checkpoint of the write-ahead log failed; the log grows until one succeeds',
        )
      },
      'checkpoint that fails',
      CHECKPOINT_LIMIT_MS,
    )
    assert.equal(await gateway.isHealthy(), true)
    const rows = Number(inDatabase(KEPT_ROWS))
    assert.ok((rowsWithoutLog() ?? 0) < rows)
    faults.set({ isLossy: true })
    await eventually(
      async () => {
        await publishPages()
        return (rowsWithoutLog() ?? 0) >= rows
      },
      'checkpoint',
      CHECKPOINT_LIMIT_MS,
    )
    assert.equal(await gateway.isHealthy(), true)
    faults.clear()
  })

  test('all acknowledged messages are there after a kill, once', async () => {
    const expected = await storedTimes()
    for (const [i, device] of devices.entries()) assert.deepEqual(expected[i], device.acknowledged)
    await gateway.stop('SIGKILL')
    assert.equal(inDatabase('PRAGMA integrity_check'), 'ok')
    gateway = await FaultyGateway.start(dataDir, faults.env)
    assert.deepEqual(await storedTimes(), expected)
  })

  test('a gateway that stops on a faulty disk exits, reports what it lost, and starts again', async () => {
    const device = await gateway.device('cart-last')
    device.publish(2)
    await device.allAcknowledged()
    faults.set({ write: 'EIO' })
    device.publish(3)
    await eventually(async () => !(await gateway.isHealthy()), 'bad health')
    const startedAtMs = performance.now()
    assert.equal(await gateway.stop('SIGTERM'), 0)
    assert.ok(performance.now() - startedAtMs < 20_000)
    const line = await gateway.logged('stopped before all rows were stored; their messages are not acknowledged')
    assert.equal(line.rows, 3)
    assert.equal(device.acknowledged.length, 2)
    faults.clear()
    gateway = await FaultyGateway.start(dataDir, faults.env)
    assert.equal(await rowsOf('cart-last'), 2)
  })

  test('a start on a disk whose failed syncs lose what was written leaves nothing that looks like damage', async () => {
    const device = await gateway.device('cart-restarted')
    device.publish(2)
    await device.allAcknowledged()
    await gateway.stop('SIGKILL')
    faults.set({ sync: 'EIO', isLossy: true })
    const failed = FaultyGateway.spawn(dataDir, faults.env)
    await failed.logged('not started')
    await failed.exited
    faults.clear()
    gateway = await FaultyGateway.start(dataDir, faults.env)
    assert.deepEqual(
      gateway.log.filter(({ place }) => place === 'log'),
      [],
    )
    assert.equal(await rowsOf('cart-restarted'), 2)
  })
})

/** Large messages, with which the log sooner reaches the pages of a checkpoint. */
async function publishPages(): Promise<void> {
  const thrice = [...devices, ...devices, ...devices]
  await Promise.all(thrice.map((device) => device.publishUnreadable(60_000)))
}

async function publishAll(count: number): Promise<void> {
  for (const device of devices) device.publish(count)
  await Promise.all(devices.map((device) => device.allAcknowledged()))
}

/** Waits until the gateway has met the fault once more. */
async function triedAgain(): Promise<void> {
  const { count } = faults
  await eventually(() => faults.count > count, 'another try')
}

async function requireReadable(): Promise<void> {
  assert.equal((await gateway.request('GET', '/devices')).status, 200)
  assert.equal((await gateway.request('GET', '/devices/cart-1/gps/latest')).status, 200)
  assert.ok((await rowsOf('cart-1')) >= 3)
  assert.equal((await gateway.request('GET', '/stats')).status, 200)
  await realtime.subscribe('cart-2')
  await realtime.flush()
}

async function requireUnwritable(): Promise<void> {
  const { status, headers, body } = await gateway.register('cart-new')
  assert.deepEqual([status, headers.get('retry-after'), body.code], [503, '5', 'store_unavailable'])
  const health = await gateway.request('GET', '/health')
  assert.deepEqual([health.status, health.body.status], [503, 'error'])
  assert.match(health.body.detail, /SQLITE_/)
  assert.deepEqual(Object.keys((await gateway.request('GET', '/health', undefined, null)).body).sort(), [
    'clock',
    'status',
    'timestamp',
  ])
}

async function recovered(): Promise<void> {
  await Promise.all(devices.map((device) => device.allAcknowledged()))
  await eventually(() => gateway.isHealthy(), 'good health')
  assert.ok(devices.every(({ isConnected }) => isConnected))
  for (const device of devices) assert.equal(await rowsOf(device.hardwareId), device.acknowledged.length)
  await publishAll(1)
}

async function healthDetail(): Promise<string> {
  return (await gateway.request('GET', '/health')).body.detail ?? ''
}

/**
 * Payloads in the database file alone, as it would be without its log; undefined if the copy is of a half-done
 * checkpoint.
 */
function rowsWithoutLog(): number | undefined {
  const copy = join(folder, 'copy.db')
  copyFileSync(join(dataDir, 'cartbarn.db'), copy)
  const db = new Database(copy)
  try {
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') return undefined
    return Number(db.prepare(KEPT_ROWS).pluck().get())
  } catch {
    return undefined
  } finally {
    db.close()
  }
}

async function storedTimes(): Promise<number[][]> {
  return Promise.all(
    devices.map(async ({ hardwareId }) => {
      const { body } = await gateway.request('GET', `/devices/${hardwareId}/gps?${ALL}&limit=10000`)
      return body.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp)).sort()
    }),
  )
}

const ALL = 'from=2026-04-01T00:00:00Z&to=2026-06-01T00:00:00Z'

async function rowsOf(hardwareId: string): Promise<number> {
  return (await gateway.request('GET', `/devices/${hardwareId}/gps?${ALL}`)).body.length
}

/** Single value of a query, read by a separate connection. */
function inDatabase(sql: string): string | number {
  const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
  try {
    return db.prepare<[], string | number>(sql).pluck().get() ?? ''
  } finally {
    db.close()
  }
}
