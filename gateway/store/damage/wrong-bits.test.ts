import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { BlockTable } from '#testing/block-table.ts'
import { pagesOf } from '#testing/damage/damaged-pages.ts'
import { flipPageBits, pageContent } from '#testing/damage/flip-bit.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import { databasePath } from '../db/files.ts'
import { Store } from '../store.ts'
import type { DamageFinding } from './findings.ts'

const EVENTS = 6000
const USERS = 600
/** Number of notes as in pages/extension.c: of pages with the same number modulo this, only one is noted at a time. */
const NOTES = 32

let folder: string
/** Data folder of a stopped store, the starting point of each case. */
let whole: string
let file: Buffer
/** A page of each kind, with the place that a finding names. */
let places: { what: string; page: number; place: string }[]

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-bits-'))
  whole = join(folder, 'whole')
  const store = await start(whole)
  fill(databasePath(whole))
  await store.stop()
  // all corrections are reported, also of pages that SQLite itself never reads
  const again = await start(whole)
  await scan(again)
  await again.stop()
  file = readFileSync(databasePath(whole))
  places = placesIn(databasePath(whole))
})

after(() => rmSync(folder, { recursive: true, force: true }))

async function start(dataDir: string): Promise<Store> {
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, createLog('silent'))
  await store.start()
  return store
}

function fill(path: string): void {
  const table = new BlockTable(path)
  const deviceId = table.newDevice()
  table.addBlock(
    deviceId,
    'gps',
    Array.from({ length: 2000 }, (_, i) => i * 1000 + ((i * 7919) % 997)),
  )
  const { db } = table.connection
  const user = db.prepare(
    `INSERT INTO user (user_id, name, key_hash, role, allowed_hardware_ids, is_active, created_at_ms, updated_at_ms,
       last_reset_ms) VALUES (?, ?, ?, 'user', '["cart-1"]', 1, 0, 0, 0)`,
  )
  const event = db.prepare(
    `INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
     VALUES (?, 'cart-1', ?, 'unlock', 'rfid', ?)`,
  )
  db.transaction(() => {
    for (let i = 0; i < USERS; i++) user.run(`user-${i}`, `Name ${i}`, `hash-${i}`)
    for (let i = 0; i < EVENTS; i++) event.run(`event-${i}`, `identity-${i}`, i)
    db.exec(`DELETE FROM lock_event WHERE at_ms > ${EVENTS - 200}`)
  })()
  table.close()
}

function placesIn(path: string): typeof places {
  const db = new Database(path, { readonly: true })
  try {
    const noted = new Set([1, 2])
    const take = (pages: readonly number[]) => {
      const page = pages.find((one) => !noted.has(one % NOTES)) ?? 0
      noted.add(page % NOTES)
      return page
    }
    const of = (name: string, kind: string) =>
      take(pagesOf(db, name).flatMap((one) => (one.kind === kind ? [one.page] : [])))
    // first, because there are only few
    const interior = of('lock_event', 'internal')
    const used = new Set(db.prepare<[], number>('SELECT pageno FROM dbstat').pluck().all())
    const pages = Number(db.pragma('page_count', { simple: true }))
    const unused = Array.from({ length: pages }, (_, i) => i + 1).filter((page) => !used.has(page) && page > 2)
    return [
      { what: 'the first page, with the header', page: 1, place: 'schema' },
      { what: 'a leaf of the list of the tables', page: of('sqlite_schema', 'leaf'), place: 'schema' },
      { what: 'a pointer map', page: 2, place: 'file' },
      { what: 'a leaf', page: of('user', 'leaf'), place: 'user' },
      { what: 'an interior page', page: interior, place: 'lock_event' },
      { what: 'an index', page: of('sqlite_autoindex_user_2', 'leaf'), place: 'user' },
      { what: 'a large index', page: of('lock_event_by_device', 'leaf'), place: 'lock_event' },
      { what: 'an overflow page', page: of('telemetry_block', 'overflow'), place: 'telemetry_block' },
      { what: 'a free page', page: take(unused), place: 'file' },
    ]
  } finally {
    db.close()
  }
}

function harmed(t: TestContext, harm: (path: string) => void): string {
  const dataDir = mkdtempSync(join(folder, 'case-'))
  cpSync(whole, dataDir, { recursive: true, preserveTimestamps: true })
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  harm(databasePath(dataDir))
  return dataDir
}

async function startHarmed(t: TestContext, harm: (path: string) => void): Promise<Store> {
  const store = await start(harmed(t, harm))
  t.after(() => store.stop())
  return store
}

function scan({ readers }: Store): Promise<unknown> {
  return readers.run('scanPages', { first: 1, count: 100_000 }, { owner: 'test' })
}

const outcomes = (found: readonly DamageFinding[]) => found.map(({ place, outcome }) => [place, outcome])

test('a single flipped bit in any kind of page is corrected in the file at the start, and reported', async (t) => {
  let path = ''
  const store = await startHarmed(t, (harmedPath) => {
    path = harmedPath
    for (const [i, { what, page }] of places.entries()) {
      assert.ok(page > 0, what)
      // in the header, a bit of the page size, which SQLite checks before it reads anything
      flipPageBits(path, page, page === 1 ? 16 * 8 : ([3, 20_000, 32_767][i % 3] ?? 0))
    }
  })
  assert.equal(store.read.users().length, USERS)
  const atStart = store.damage.all.find(({ place }) => place === 'schema')
  const schema = places.filter(({ place }) => place === 'schema').map(({ page }) => page)
  assert.match(atStart?.detail ?? '', new RegExp(`One bit of each of the pages ${schema.join(', ')} was wrong`))
  const expected = new Set(places.map(({ place }) => place))
  await eventually(async () => {
    assert.deepEqual(await scan(store), { wrong: [], isDone: true })
    // the writer thread corrects pages that no start reads, shortly after a request
    await store.truncateLog()
    return store.damage.all.length === expected.size
  }, 'all of the damage is reported')
  assert.deepEqual(new Set(store.damage.all.map(({ place }) => place)), expected)
  assert.ok(store.damage.all.every(({ outcome }) => outcome === 'mended'))
  const after = readFileSync(path)
  // each start writes to the first page
  for (const { what, page } of places.filter((one) => one.page > 1))
    assert.deepEqual(pageContent(after, page), pageContent(file, page), what)
  await store.stop()
  const next = await start(dirname(path))
  t.after(() => next.stop())
  await scan(next)
  assert.deepEqual(next.damage.all, [])
})

test('two flipped bits in a page of users are reported, and the rows of the page are lost', async (t) => {
  const { page = 0 } = places.find(({ what }) => what === 'a leaf') ?? {}
  const store = await startHarmed(t, (path) => flipPageBits(path, page, 20_000, 30_000))
  assert.deepEqual(outcomes(store.damage.all), [['user', 'set_aside']])
  assert.ok(store.read.users().length < USERS)
})

test('a page with one wrong bit is corrected, and only the rows of a page with two are lost', async (t) => {
  const db = new Database(databasePath(whole), { readonly: true })
  const [one, other] = pagesOf(db, 'user').filter(({ kind }) => kind === 'leaf')
  db.close()
  assert.ok(one && other)
  const store = await startHarmed(t, (path) => {
    flipPageBits(path, one.page, 20_000)
    flipPageBits(path, other.page, 20_000, 30_000)
  })
  assert.equal(store.read.users().length, USERS - other.cells)
})

test('flipped bits in the checksum of a page change no page and are not reported', async (t) => {
  const { page = 0 } = places.find(({ what }) => what === 'a leaf') ?? {}
  for (const bits of [[5], [70], [5, 70], [1, 100]]) {
    let path = ''
    const store = await startHarmed(t, (harmedPath) => {
      path = harmedPath
      // an entry in the file of checksums has 16 bytes, after a header of 512
      flipPageBits(`${path}-sums`, 1, ...bits.map((bit) => (512 + (page - 1) * 16) * 8 + bit))
    })
    assert.equal(store.read.users().length, USERS)
    assert.deepEqual(store.damage.all, [])
    assert.deepEqual(pageContent(readFileSync(path), page), pageContent(file, page))
    await store.stop()
  }
})

test('a flipped bit in a page that the log replaces is harmless', async (t) => {
  const dataDir = harmed(t, () => undefined)
  const path = databasePath(dataDir)
  const running = await start(dataDir)
  const { page = 0 } = places.find(({ what }) => what === 'a leaf') ?? {}
  const writing = new Database(path)
  writing.pragma('wal_autocheckpoint = 0')
  writing.exec("UPDATE user SET name = 'Other ' || user_id")
  writing.close()
  const killed = mkdtempSync(join(folder, 'killed-'))
  cpSync(dataDir, killed, { recursive: true, preserveTimestamps: true })
  passForOriginal(killed)
  await running.stop()
  flipPageBits(databasePath(killed), page, 20_000)
  const store = await start(killed)
  t.after(() => store.stop())
  assert.equal(store.read.users().filter(({ name }) => name.startsWith('Other user-')).length, USERS)
  assert.deepEqual(store.damage.all, [])
  assert.deepEqual(await scan(store), { wrong: [], isDone: true })
})

test('a kill before or after writing the byte leaves a page that is right or corrected at the start', async (t) => {
  const { page = 0 } = places.find(({ what }) => what === 'a leaf') ?? {}
  const dataDir = harmed(t, (path) => flipPageBits(path, page, 20_000))
  const running = await start(dataDir)
  t.after(() => running.stop())
  assert.deepEqual(outcomes(running.damage.all), [['user', 'mended']])
  for (const [isWritten, detail] of [
    [true, []],
    [false, [['user', 'mended']]],
  ] as const) {
    const killed = mkdtempSync(join(folder, 'killed-'))
    cpSync(dataDir, killed, { recursive: true, preserveTimestamps: true })
    passForOriginal(killed)
    if (!isWritten) flipPageBits(databasePath(killed), page, 20_000)
    const sums = readFileSync(join(killed, 'cartbarn.db-sums')).subarray(528)
    const store = await start(killed)
    assert.equal(store.read.users().length, USERS)
    assert.deepEqual(outcomes(store.damage.all), detail)
    // the checksums were not recreated, which would hide other damage
    assert.deepEqual(readFileSync(join(killed, 'cartbarn.db-sums')).subarray(528), sums)
    await store.stop()
  }
})
