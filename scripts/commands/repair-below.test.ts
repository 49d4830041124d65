import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { createLog } from '#shared/log.ts'
import { createRandom } from '#shared/random.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { createReplacementTable } from '#store/damage/replacement-table.ts'
import { swapRoots } from '#store/damage/swap-roots.ts'
import { PageSums } from '#store/pages/page-sums.ts'
import { openWriter } from '#store/writer/open.ts'
import { BlockTable } from '#testing/block-table.ts'
import { SPOILT_PAGES, spoilPage } from '#testing/damage/damaged-pages.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { repair } from './repair.ts'

// Pages above the rows of a table, the list of the tables and the pointer map are damaged in the database of a real
// gateway.

/** Set CARTBARN_TEST_LONG=1 for each page with everything that may be in its place, and for more by chance. */
const IS_LONG = process.env.CARTBARN_TEST_LONG !== undefined
const NOON_MS = Date.UTC(2026, 4, 1, 12)
const USERS = 300
const EVENTS = 3000
const BLOCKS = 600
const REMOVED = 2000
const MAP_PAGE = 2
/** Tables that a repair recreates, or adds to. */
const RECREATED = [
  'migration',
  'sync_identity',
  'sync_cursor',
  'device_state',
  'change_log',
  'block_log',
  'clock_mark',
  'command_count',
]

interface Page {
  page: number
  name: string
  kind: 'leaf' | 'internal' | 'overflow'
  path: string
  cells: number
}

const folder = mkdtempSync(join(tmpdir(), 'cartbarn-below-'))
const commands = new CommandFolder()
const whole = join(folder, 'whole')
let pages: Page[] = []
let contents = new Map<string, Map<string, string>>()

before(async () => {
  const g = await startGateway({ CARTBARN_DATA_DIR: join(folder, 'made') }, { clock: new FakeClock(NOON_MS) })
  await fillByApi(g)
  await g.restart(() => fillUp(join(folder, 'made', 'cartbarn.db')))
  await g.restart(() => copyFolder(join(folder, 'made'), whole))
  await g.stop()
  contents = contentsOf(join(whole, 'cartbarn.db'))
  pages = pagesIn(join(whole, 'cartbarn.db'))
})
after(() => {
  rmSync(folder, { recursive: true, force: true })
  commands.remove()
})

async function fillByApi(g: TestGateway): Promise<void> {
  await g.request('POST', '/groups', { body: { name: 'Course', group_id: 7 } })
  const cart = await g.device('cart-1')
  await g.device('cart-2')
  await g.createUser({ allowed_hardware_ids: ['cart-1'] })
  const event = { eid: 'e', ts: NOON_MS - 1000, event: 'unlock', source: 'rfid', code: '04A1' }
  await cart.publishAsync('dev/cart-1/evt', JSON.stringify([event]), { qos: 1 })
}

// as much as years bring: a gateway takes that at the pace of devices only
function fillUp(path: string): void {
  const sums = new PageSums(path, createLog('silent'))
  sums.prepare()
  const table = new BlockTable(path)
  table.connection.db.exec(`BEGIN;
    ${counted(EVENTS)} INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, code, metadata)
      SELECT 'event-' || i, 'cart-' || (i % 2 + 1), 'identity-' || i, 'unlock', 'rfid', i, hex(i * 7),
      hex(zeroblob(400)) FROM c;
    ${counted(USERS)} INSERT INTO user (user_id, name, role, allowed_hardware_ids, key_hash, is_active, created_at_ms,
        updated_at_ms, last_reset_ms) SELECT hex(i * 7919), 'User ' || i, 'user', '["cart-1"]', hex(i), 1, i, i, i
        FROM c;
    ${counted(REMOVED)} INSERT INTO removed_device (hardware_id, removed_at_ms)
      SELECT hex(i * 7919) || '-' || i, i FROM c;
    ${counted(USERS)} INSERT INTO mqtt_retained (topic, payload, qos) SELECT 'some/topic/' || i, 'payload ' || i, 1
    FROM c;
    COMMIT`)
  for (let i = 0; i < BLOCKS; i++)
    table.addBlock(
      1 + (i % 2),
      'gps',
      Array.from({ length: 250 }, (_, j) => NOON_MS - (i * 300 + 250 - j) * 1000),
    )
  table.connection.db.pragma('wal_checkpoint(TRUNCATE)')
  table.close()
  sums.closed()
}

const counted = (rows: number) => `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${rows})`

// the file's modification time shows if the checksums belong to it
function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true })
}

function dataFolder(t: TestContext, from = whole): string {
  const data = mkdtempSync(join(folder, 'data-'))
  copyFolder(from, data)
  t.after(() => rmSync(data, { recursive: true, force: true }))
  return data
}

function pagesIn(path: string): Page[] {
  const copy = `${path}-read`
  cpSync(path, copy)
  const db = new Database(copy)
  const found = db
    .prepare<[], Page>(
      'SELECT pageno AS page, name, pagetype AS kind, path, ncell AS cells FROM dbstat ORDER BY pageno',
    )
    .all()
  db.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
  return found
}

/** Returns the rows of each table by their identity, with their content. */
function contentsOf(path: string): Map<string, Map<string, string>> {
  const db = new Database(path, { readonly: true })
  const names = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'damaged_%_1'",
    )
    .pluck()
    .all()
  const rowsOf = (name: string) => {
    const rows = db.prepare<[], unknown[]>(`SELECT * FROM ${name} NOT INDEXED`).raw().all()
    return new Map(rows.map((row) => [JSON.stringify(row), String(row[0])]))
  }
  const found = new Map(names.map((name) => [name, rowsOf(name)]))
  db.close()
  return found
}

const run = (data: string) => commands.run(repair, ['--data', data])

/**
 * Returns the number of missing rows of each table in the repaired database; fails if it has one that never existed.
 */
function missingIn(data: string, expected = contents): Record<string, number> {
  const path = join(data, 'cartbarn-repaired.db')
  const repaired = contentsOf(path)
  const missing: Record<string, number> = {}
  for (const [table, rows] of expected) {
    if (RECREATED.includes(table) || table === 'telemetry_log_end' || table === 'config_version') continue
    const found = repaired.get(table) ?? new Map()
    for (const row of found.keys()) assert.ok(rows.has(row), `${table} never had ${row.slice(0, 200)}`)
    if (rows.size > found.size) missing[table] = rows.size - found.size
  }
  return missing
}

const spoil = (data: string, page: number | undefined, content: Uint8Array = SPOILT_PAGES.noise()) =>
  spoilPage(join(data, 'cartbarn.db'), page ?? 0, content)

const pagesNamed = (name: string, kind: Page['kind']) =>
  pages.filter((page) => page.name === name && page.kind === kind)

test('the database of the test has trees of several levels', () => {
  assert.ok(pagesNamed('lock_event', 'internal').length > 1)
  assert.ok(pagesNamed('telemetry_block', 'internal').length > 1)
  assert.equal(pagesNamed('user', 'internal').length, 1)
  assert.ok(pagesNamed('sqlite_schema', 'leaf').length > 3)
})

const KINDS = Object.entries(SPOILT_PAGES)
for (const table of ['lock_event', 'telemetry_block', 'user', 'mqtt_retained', 'sqlite_schema']) {
  for (const [kind, [spoilt, content]] of KINDS.entries()) {
    test(`an upper page of ${spoilt} loses no data: ${table}`, async (t) => {
      const upper = pagesNamed(table, 'internal')
      // each page of one kind, and each kind at least once
      const chosen = IS_LONG ? upper : upper.filter((_, i) => i % KINDS.length === kind % upper.length)
      for (const { page } of chosen) {
        const data = dataFolder(t)
        spoil(data, page, content())
        const { code, out, err } = await run(data)
        assert.deepEqual([code, err], [0, ''])
        assert.match(out, /^All of the /m, `page ${page}`)
        assert.deepEqual(missingIn(data), {})
      }
    })
  }
}

for (const [spoilt, content] of Object.entries(SPOILT_PAGES)) {
  test(`an upper page of ${spoilt} of a table without numbers loses only its own rows`, async (t) => {
    const [upper] = pagesNamed('removed_device', 'internal')
    assert.ok(upper !== undefined && upper.cells > 2)
    const data = dataFolder(t)
    spoil(data, upper.page, content())
    const { code, out, err } = await run(data)
    assert.deepEqual([code, err], [0, ''])
    assert.deepEqual(missingIn(data), { removed_device: upper.cells })
    assert.match(out, /^removed_device: \d+ rows, and some are missing:\n( {2}(after|from) .*\n)+\w/m)
  })
}

test('without checksums the rows are the same, and possibly missing ones are reported', async (t) => {
  for (const table of ['lock_event', 'user', 'sqlite_schema']) {
    const data = dataFolder(t)
    rmSync(join(data, 'cartbarn.db-sums'))
    spoil(data, pagesNamed(table, 'internal').at(-1)?.page)
    const { code, err } = await run(data)
    assert.deepEqual([code, err], [0, ''])
    assert.deepEqual(missingIn(data), {})
  }
})

test('a damaged leaf below a damaged page loses only its own rows, and their range is reported', async (t) => {
  const data = dataFolder(t)
  const upper = pagesNamed('lock_event', 'internal').find(({ path }) => path !== '/')
  const below = pagesNamed('lock_event', 'leaf').filter(({ path }) => path.startsWith(upper?.path ?? '-'))
  const leaf = below[Math.floor(below.length / 2)]
  spoil(data, upper?.page)
  spoil(data, leaf?.page)
  const { out } = await run(data)
  assert.deepEqual(missingIn(data), { lock_event: leaf?.cells })
  assert.match(
    out,
    /^lock_event: \d+ rows, and some are missing:\n( {2}from the beginning up to 1: .*\n)? {2}after \d+ up to \d+: what was there cannot be read\n\w/m,
  )
})

for (const isFirstBad of [false, true]) {
  const also = isFirstBad ? ' and the first one' : ''
  test(`a single damaged page of the list of the tables${also} loses no data`, async (t) => {
    const leaves = pagesNamed('sqlite_schema', 'leaf')
    const chosen = IS_LONG ? leaves : leaves.filter((_, i) => i % 2 === (isFirstBad ? 1 : 0))
    for (const { page } of chosen) {
      const data = dataFolder(t)
      spoil(data, page)
      if (isFirstBad) spoil(data, 1)
      const { code, out, err } = await run(data)
      assert.equal(code, 0, err)
      assert.match(out, /It was recreated; (these were found by their pages: \w|all is in it)/)
      assert.match(out, /^All of the /m)
      assert.deepEqual(missingIn(data), {})
    }
  })
}

test('an unknown schema version is reported with a remedy', async (t) => {
  const data = dataFolder(t)
  for (const { page } of pagesNamed('sqlite_schema', 'leaf').slice(-1)) spoil(data, page)
  spoil(data, 1)
  spoil(data, MAP_PAGE)
  const { code, err } = await run(data)
  assert.notEqual(code, 0)
  assert.match(err, /restore a backup/)
})

test('the pointer map alone loses no data; with an upper page, unlocated rows are reported', async (t) => {
  const alone = dataFolder(t)
  spoil(alone, MAP_PAGE)
  assert.match((await run(alone)).out, /^All of the /m)
  assert.deepEqual(missingIn(alone), {})
  for (const table of ['lock_event', 'user', 'sqlite_schema']) {
    const data = dataFolder(t)
    spoil(data, MAP_PAGE)
    spoil(data, pagesNamed(table, 'internal')[0]?.page)
    const { code, out, err } = await run(data)
    if (code !== 0) assert.match(err, /restore a backup/, table)
    else {
      const missing = Object.keys(missingIn(data))
      assert.ok(
        missing.every((name) => name === table),
        missing.join(),
      )
      if (missing.length > 0) assert.match(out, new RegExp(`^${table}: \\d+ rows, and some are missing:`, 'm'))
    }
  }
})

test('recreated tables are found by their rows, or reported as unidentified', async (t) => {
  const made = dataFolder(t)
  const path = join(made, 'cartbarn.db')
  const sums = new PageSums(path, createLog('silent'))
  sums.prepare()
  const writing = openWriter(path)
  writing.db.unsafeMode(true)
  writing.db.transaction(() => {
    const replacement = createReplacementTable(writing, 'user')
    writing.db.exec(`INSERT INTO ${replacement.table} SELECT * FROM user`)
    swapRoots(writing, replacement.pairs)
  })()
  writing.db.pragma('wal_checkpoint(TRUNCATE)')
  writing.close()
  sums.closed()
  const expected = contentsOf(path)
  const leaves = pagesIn(path).filter(({ name, kind }) => name === 'sqlite_schema' && kind === 'leaf')
  for (const { page } of IS_LONG ? leaves : leaves.filter((_, i) => i % 3 === 0)) {
    const data = dataFolder(t, made)
    spoil(data, page)
    const { code, out, err } = await run(data)
    assert.deepEqual([code, err], [0, ''])
    for (const table of Object.keys(missingIn(data, expected))) {
      assert.match(out, new RegExp(`these tables are unknown: .*\\b${table}\\b`), table)
      assert.match(out, new RegExp(`^${table}: 0 rows, and some are missing:\n {2}completely unreadable`, 'm'))
    }
  }
})

test('the last writes are in the log, and the damage is in the file', async (t) => {
  const g = await startGateway({ CARTBARN_DATA_DIR: dataFolder(t) }, { clock: new FakeClock(NOON_MS + 60_000) })
  t.after(() => g.stop())
  const cart = await g.device('cart-9')
  const event = { eid: 'the-last', ts: NOON_MS + 50_000, event: 'lock', source: 'rfid', code: '0' }
  await cart.publishAsync('dev/cart-9/evt', JSON.stringify([event]), { qos: 1 })
  const killed = mkdtempSync(join(folder, 'killed-'))
  const compared = mkdtempSync(join(folder, 'compared-'))
  for (const to of [killed, compared]) copyFolder(g.config.dataDir, to)
  rmSync(join(killed, 'cartbarn.db-shm'), { force: true })
  const expected = contentsOf(join(compared, 'cartbarn.db'))
  const upper = pagesNamed('lock_event', 'internal')
  for (const { page } of [...upper.filter(({ path }) => path !== '/'), ...pagesNamed('sqlite_schema', 'internal')])
    spoil(killed, page)
  const { code, err } = await run(killed)
  assert.deepEqual([code, err], [0, ''])
  assert.deepEqual(missingIn(killed, expected), {})
})

test('wherever pages are damaged, all rows on intact pages are recovered, and no others', async (t) => {
  const random = createRandom('pages of a repair')
  const pick = () => pages[Math.floor(random.next() * pages.length)]
  for (let round = 0; round < (IS_LONG ? 20 : 4); round++) {
    const data = dataFolder(t)
    const upper = pages.filter(({ kind, name }) => kind === 'internal' && name !== 'sqlite_schema')
    const bad = [pick(), upper[Math.floor(random.next() * upper.length)], pages.find(({ page }) => page === 1)]
      .filter((page) => page !== undefined)
      // telemetry is trusted according to its own checksums, which are not tested here
      .filter(({ name, kind }) => !(name === 'telemetry_block' && kind === 'overflow'))
    for (const { page } of bad) spoil(data, page)
    const { code, err } = await run(data)
    assert.deepEqual([code, err], [0, ''])
    const lost = bad
      .filter(({ name, kind }) => kind === 'leaf' && contents.has(name))
      .filter(({ name }) => !RECREATED.includes(name))
    const missing = missingIn(data)
    const expected = lost.reduce((sum, { cells }) => sum + cells, 0)
    const found = Object.values(missing).reduce((sum, rows) => sum + rows, 0)
    assert.equal(found, expected, JSON.stringify({ bad, missing }))
  }
})
