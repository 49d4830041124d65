import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { PageSums } from '#store/pages/page-sums.ts'
import { BlockTable } from '#testing/block-table.ts'
import { pagesOf, type TreePage } from '#testing/damage/damaged-pages.ts'
import { compileDiskFaults, type DiskFault, DiskFaults } from './faults.ts'
import { FaultyGateway } from './faulty-gateway.ts'
import { repair } from './repair.ts'

// One sector of the database permanently gives EIO; all others are read and written normally.

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-sector-'))
const whole = join(folder, 'whole')
const library = compileDiskFaults(folder)
// in CI, where tests must not be skipped, there is a compiler
const skip = library === undefined && process.env.CI === undefined ? 'no C compiler' : false
const EVENTS = 6000
const BLOCKS = 100
const BLOCKS_FROM_MS = Date.UTC(2026, 3, 1)
const RANGE = 'from=2026-01-01T00:00:00Z&to=2026-12-01T00:00:00Z'
const FIRST = 1
/** Number of positions read to distinguish a lost sector from a missing disk. */
const PLACES = 16

describe('a sector that became unreadable', { skip }, () => {
  before(async () => {
    assert.ok(library !== undefined, 'cc cannot build faults.c')
    const gateway = await FaultyGateway.start(whole)
    const device = await gateway.device('cart-1')
    device.publish(20)
    await device.allAcknowledged()
    await gateway.stop()
    fillUp(join(whole, 'cartbarn.db'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('in a small table makes a start recreate the table and report it', async (t) => {
    const { data, faults } = onDisk(t, { badPage: middleOf(leavesOf('user')).page })
    const gateway = await start(t, data, faults)
    await assertAtWork(gateway)
    assert.deepEqual(await damagedPlaces(gateway), ['user'])
  })

  test('in a page of a large table that the disk check reads is reported as damage', async (t) => {
    const places = placesChecked()
    const page = leavesOf('lock_event').find((leaf) => places.includes(leaf.page))
    assert.ok(page !== undefined)
    const { data, faults } = onDisk(t, { badPage: page.page })
    const gateway = await start(t, data, faults)
    await assertAtWork(gateway)
    await eventually(async () => {
      await gateway.request('GET', '/lock-events?limit=1000')
      return (await damagedPlaces(gateway)).includes('lock_event')
    }, 'lock_event is begun anew')
    await eventually(async () => (await gateway.request('GET', '/lock-events')).status === 200, 'lock events')
  })

  test('in a page of telemetry loses the blocks on it', async (t) => {
    const { data, faults } = onDisk(t, { badPage: middleOf(leavesOf('telemetry_block')).page })
    const gateway = await start(t, data, faults)
    await assertAtWork(gateway)
    const { status, body } = await gateway.request('GET', `/devices/cart-1/gps?${RANGE}&limit=10000`)
    assert.equal(status, 200)
    assert.ok(body.length > 0)
    await eventually(async () => {
      const { body: health } = await gateway.request('GET', '/health')
      return health.damaged_telemetry?.newest?.[0]?.reason === 'unreadable_page'
    }, 'the blocks are named')
  })

  test('in the first page ends a start with the advice to run repair, which recovers all rows', async (t) => {
    const { data, faults } = onDisk(t, { badPage: FIRST })
    const gateway = FaultyGateway.spawn(data, faults.env)
    t.after(() => gateway.stop('SIGKILL'))
    assert.notEqual(await gateway.exited, 0)
    assert.match(JSON.stringify(gateway.log), /npm run repair creates a new one from all readable data/)
    const { status, stdout, stderr } = repair(data, onOld(faults, FIRST))
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^All of the \d+ rows/m)
  })

  test('is reported by repair with its rows, and all other rows are recovered', async (t) => {
    const lost = middleOf(leavesOf('lock_event'))
    const { data, faults } = onDisk(t, {})
    const { status, stdout, stderr } = repair(data, onOld(faults, lost.page))
    assert.equal(status, 0, stderr)
    assert.match(
      stdout,
      new RegExp(`^lock_event: ${EVENTS - lost.cells} rows, and some are missing:\n {2}(after|from) \\d+`, 'm'),
    )
  })

  test('on a disk that returns no data makes repair fail without replacing any file', async (t) => {
    const { data, faults } = onDisk(t, {})
    faults.set({ read: 'EIO', suffix: 'cartbarn.db' })
    const { status, stderr } = repair(data, faults.env)
    assert.equal(status, 1)
    assert.match(stderr, /the disk does not return its data .*: nothing was replaced; see to its cable/)
    assert.ok(existsSync(join(data, 'cartbarn.db')))
  })
})

// years of data, which a gateway would receive only at the rate of devices
function fillUp(path: string): void {
  const sums = new PageSums(path, createLog('silent'))
  sums.prepare()
  const table = new BlockTable(path)
  table.connection.db.exec(`
    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${EVENTS})
    INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, code)
      SELECT 'event-' || i, 'cart-1', 'identity-' || i, 'unlock', 'rfid', i, hex(i * 7) FROM c`)
  for (let i = 0; i < BLOCKS; i++)
    table.addBlock(
      1,
      'gps',
      Array.from({ length: 250 }, (_, j) => BLOCKS_FROM_MS + (i * 300 + j) * 1000),
    )
  table.connection.db.pragma('wal_checkpoint(TRUNCATE)')
  table.close()
  sums.closed()
}

function inWhole<Result>(read: (db: Database.Database) => Result): Result {
  const db = new Database(join(whole, 'cartbarn.db'), { readonly: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

function leavesOf(name: string): TreePage[] {
  return inWhole((db) => pagesOf(db, name)).filter(({ kind }) => kind === 'leaf')
}

function middleOf(pages: readonly TreePage[]): TreePage {
  const page = pages[Math.floor(pages.length / 2)]
  assert.ok(page !== undefined)
  return page
}

function placesChecked(): number[] {
  const pages = inWhole((db) => Number(db.pragma('page_count', { simple: true })))
  return Array.from({ length: PLACES }, (_, i) => 1 + Math.floor((pages * i) / PLACES))
}

/** Copy of the whole data folder, on a disk that does not return this page of the database. */
function onDisk(t: TestContext, { badPage }: Pick<DiskFault, 'badPage'>) {
  const data = mkdtempSync(join(folder, 'data-'))
  // the file's time decides if the checksums belong to it
  cpSync(whole, data, { recursive: true, preserveTimestamps: true })
  const faults = new DiskFaults(library ?? '', mkdtempSync(join(folder, 'control-')), data)
  if (badPage !== undefined) faults.set({ read: 'EIO', badPage, suffix: 'cartbarn.db' })
  t.after(() => {
    faults.close()
    rmSync(data, { recursive: true, force: true })
  })
  return { data, faults }
}

async function start(t: TestContext, data: string, faults: DiskFaults): Promise<FaultyGateway> {
  const gateway = await FaultyGateway.start(data, faults.env)
  t.after(() => gateway.stop('SIGKILL'))
  return gateway
}

async function assertAtWork(gateway: FaultyGateway): Promise<void> {
  const device = await gateway.device('cart-2')
  device.publish(3)
  await device.allAcknowledged()
  await device.publishLock(1)
  assert.equal(await gateway.isHealthy(), true)
}

async function damagedPlaces(gateway: FaultyGateway): Promise<string[]> {
  const { body } = await gateway.request('GET', '/health')
  return (body.damage ?? []).map(({ place }: { place: string }) => place)
}

/** A repair reads the old database under another name; the new one is on other sectors. */
function onOld(faults: DiskFaults, badPage: number): Record<string, string> {
  faults.set({ read: 'EIO', badPage, suffix: 'old.db' })
  return faults.env
}
