import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { toIso } from '#shared/time.ts'
import { DataLock } from '#store/db/data-lock.ts'
import { migrate } from '#store/migrate.ts'
import { ENTRY_BYTES, HEADER_BYTES, PageSums } from '#store/pages/page-sums.ts'
import { finishReplacement } from '#store/replace/replace-database.ts'
import { detachBlocks, removeBlock } from '#store/telemetry/detached-blocks.ts'
import { openForSetup } from '#store/writer/open.ts'
import { BlockTable } from '#testing/block-table.ts'
import { pagesOf, SPOILT_PAGES, spoilPage } from '#testing/damage/damaged-pages.ts'
import { silently } from '#testing/silently.ts'
import { startGateway } from '#testing/start-gateway.ts'
import { repair } from './repair.ts'

const T0 = Date.UTC(2026, 4, 1)
/** Set CARTBARN_TEST_LONG=1 for more moments of a kill; each step of a replacement has one in any case. */
const IS_LONG = process.env.CARTBARN_TEST_LONG !== undefined
const folder = mkdtempSync(join(tmpdir(), 'cartbarn-repair-'))
const commands = new CommandFolder()
after(() => {
  rmSync(folder, { recursive: true })
  commands.remove()
})

const COUNTED = 'WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000)'
const whole = join(folder, 'whole.db')
makeWhole()
const { pages, contents, tables, schemaPages } = describeWhole()

function makeWhole(): void {
  const table = new BlockTable(whole)
  const devices = Array.from({ length: 20 }, () => table.newDevice())
  for (const device of devices) {
    for (let day = 0; day < 12; day++) {
      const times = Array.from({ length: 600 }, (_, i) => T0 + day * 86_400_000 + i * (900 + device))
      table.addBlock(device, 'gps', times)
    }
    table.log(device, 'battery', [T0 + 20 * 86_400_000 + device])
  }
  table.connection.db.exec(`
    ${COUNTED} INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
      SELECT 'e' || i, 'cart-' || (i % 20), 'i' || i, 'unlock', 'rfid', i FROM c;
    ${COUNTED} INSERT INTO command (command_id, hardware_id, short_id, device_type, command, params, ttl_s, status,
        requested_by, created_at_ms) SELECT 'c' || i, 'cart-1', 's', 'teebox', 'lock', '{}', 60, 'expired', 'u', i
        FROM c;
    ${COUNTED} INSERT INTO mqtt_retained (topic, payload, qos) SELECT 't/' || i, 'p' || i, 1 FROM c;
    ${COUNTED} INSERT INTO mqtt_subscription (client_id, topic_filter, qos) SELECT 'k' || i / 10, 'f' || i, 1 FROM c;
    UPDATE command_count SET commands = 3000; UPDATE sync_identity SET site = 'north';
    INSERT INTO sync_cursor VALUES ('telemetry', 5, 'x')`)
  table.close()
}

function describeWhole() {
  const db = new Database(whole)
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all()
  const described = {
    tables: names,
    pages: new Map(names.map((name) => [name, pagesOf(db, name)])),
    contents: new Map(names.map((name) => [name, contentOf(db, name)])),
    schemaPages: pagesOf(db, 'sqlite_schema').map(({ page }) => page),
  }
  db.close()
  return described
}

/** Returns the rows of a table, without values that a repair recreates. */
function contentOf(db: Database.Database, table: string): Set<string> {
  const rows = db.prepare(`SELECT * FROM "${table}" NOT INDEXED`).raw().all()
  return new Set(rows.map((row) => JSON.stringify(row)))
}

function dataFolder(t: TestContext): string {
  const data = mkdtempSync(join(folder, 'data-'))
  copyFileSync(whole, join(data, 'cartbarn.db'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  return data
}

const run = (data: string, ...options: string[]) => commands.run(repair, ['--data', data, ...options])

/** Tables that a repair recreates, or adds to. */
const RECREATED = [
  'sync_identity',
  'sync_cursor',
  'device_state',
  'change_log',
  'block_log',
  'telemetry_log_end',
  'command_count',
]

function lostRows(path: string): number {
  const db = new Database(path, { readonly: true })
  try {
    assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }])
    let lost = 0
    for (const table of tables) {
      if (RECREATED.includes(table)) continue
      const found = contentOf(db, table)
      const expected = contents.get(table) ?? new Set()
      for (const row of found) assert.ok(expected.has(row), `${table}: ${row.slice(0, 100)}`)
      lost += expected.size - found.size
    }
    return lost
  } finally {
    db.close()
  }
}

test('an intact database is copied in full, as another epoch, and no number is reused', async (t) => {
  const data = dataFolder(t)
  const before = readFileSync(join(data, 'cartbarn.db'))
  const { code, out, err } = await run(data, '--yes')
  assert.deepEqual([code, err], [0, ''])
  assert.match(out, /All of the \d+ rows of \d+ tables could be read\./)
  assert.equal(lostRows(join(data, 'cartbarn.db')), 0)
  const [kept = ''] = readdirSync(data).filter((name) => name.startsWith('damaged-'))
  assert.deepEqual(readFileSync(join(data, kept, 'cartbarn.db')), before)
  assert.ok(!readdirSync(data).some((name) => /unfinished|successor|repaired/.test(name)))
  const [old, db] = [new Database(whole), new Database(join(data, 'cartbarn.db'))]
  const one = (from: Database.Database, sql: string) => from.prepare(sql).raw().get()
  assert.deepEqual(
    db.prepare('SELECT * FROM sqlite_sequence WHERE name <> ? ORDER BY name').all('change_log'),
    old.prepare('SELECT * FROM sqlite_sequence WHERE name <> ? ORDER BY name').all('change_log'),
  )
  assert.notDeepEqual(one(db, 'SELECT epoch FROM sync_identity'), one(old, 'SELECT epoch FROM sync_identity'))
  assert.deepEqual(one(db, 'SELECT site FROM sync_identity'), ['north'])
  assert.deepEqual(one(db, 'SELECT count(*) FROM sync_cursor'), [0])
  old.close()
  db.close()
})

for (const table of ['device', 'telemetry_block', 'lock_event', 'command', 'mqtt_retained', 'mqtt_subscription']) {
  for (const [spoilt, content] of Object.entries(SPOILT_PAGES)) {
    test(`a leaf of ${spoilt} in ${table} loses only its own rows`, async (t) => {
      const data = dataFolder(t)
      const leaves = (pages.get(table) ?? []).filter(({ kind }) => kind === 'leaf')
      const { page = 0, cells = 0 } = leaves[Math.floor(leaves.length / 2)] ?? {}
      spoilPage(join(data, 'cartbarn.db'), page, content())
      const { code, out } = await run(data, '--yes')
      assert.equal(code, 0)
      assert.match(out, new RegExp(`${table}: \\d+ rows, and some are missing:`))
      assert.equal(lostRows(join(data, 'cartbarn.db')), cells)
      if (table === 'telemetry_block') assert.equal(out.match(/cart-\d+: .* records of gps from/g)?.length, cells)
      // the second time there is nothing to lose
      assert.match((await run(data)).out, /All of the/)
    })
  }
}

test('damaged indexes lose no data', async (t) => {
  const data = dataFolder(t)
  const db = new Database(whole, { readonly: true })
  const indexes = ['lock_event_by_device', 'telemetry_block_by_device', 'sqlite_autoindex_command_1']
  const bad = indexes.flatMap((name) => pagesOf(db, name))
  db.close()
  for (const { page } of bad) spoilPage(join(data, 'cartbarn.db'), page, SPOILT_PAGES.noise())
  assert.match((await run(data, '--yes')).out, /All of the/)
  assert.equal(lostRows(join(data, 'cartbarn.db')), 0)
})

/** Returns the response of a gateway for the first days of a cart. */
async function historyOf(data: string): Promise<unknown> {
  // a gateway of a test deletes its folder in the end
  const copy = mkdtempSync(join(folder, 'read-'))
  cpSync(data, copy, { recursive: true })
  const gateway = await startGateway({ CARTBARN_DATA_DIR: copy }, { clock: new FakeClock(T0 + 13 * 86_400_000) })
  try {
    const range = `from=${toIso(T0)}&to=${toIso(T0 + 6 * 86_400_000)}&order=asc`
    const { status, body } = await gateway.request('GET', `/devices/cart-1/gps?${range}`)
    assert.deepEqual([status, body.length > 1000], [200, true])
    return body
  } finally {
    await gateway.stop()
  }
}

test('quarantined blocks are in the table again, and hidden ones are gone', async (t) => {
  const data = dataFolder(t)
  const path = join(data, 'cartbarn.db')
  const table = new BlockTable(path)
  const { connection } = table
  detachBlocks(connection)
  const added = table.addBlock(1, 'gps', [T0 + 50 * 86_400_000, T0 + 50 * 86_400_000 + 1000])
  detachBlocks(connection)
  table.addBlock(2, 'gps', [T0 + 51 * 86_400_000])
  for (const blockId of [3, 4, 30]) removeBlock(connection, blockId)
  const served = () => connection.statement('SELECT * FROM stored_block ORDER BY block_id').all()
  const before = served()
  const old = connection.get('SELECT records FROM damaged_telemetry_block_1 WHERE block_id = 5')
  assert.ok(old !== undefined && before.length === 240 - 3 + 2)
  // the newer of two counts
  connection.run(
    `INSERT INTO telemetry_block SELECT block_id, device_id, stream, first_ms, last_ms + 1, count, records
     FROM damaged_telemetry_block_2 WHERE block_id = ?`,
    added,
  )
  table.close()
  const history = await historyOf(data)
  const { out, err } = await run(data, '--yes')
  assert.match(out, /All of the/, err)
  const db = new Database(path)
  const rows = db.prepare('SELECT * FROM telemetry_block ORDER BY block_id').all()
  assert.deepEqual(
    rows,
    before.map((row) => {
      // a row of stored_block has these columns
      const block = row as { block_id: number; last_ms: number }
      return block.block_id === added ? { ...block, last_ms: block.last_ms + 1 } : block
    }),
  )
  assert.deepEqual(db.prepare('SELECT * FROM stored_block ORDER BY block_id').all(), rows)
  assert.equal(db.prepare('SELECT count(*) FROM hidden_block').pluck().get(), 0)
  const countDetached = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'damaged_telemetry%'"
  assert.equal(db.prepare(countDetached).pluck().get(), 0)
  db.close()
  assert.deepEqual(await historyOf(data), history)
})

/** Flips a bit of the first `bytes` bytes of this text in the file, wherever it is. */
function flipBits(path: string, text: string, bytes: number): void {
  const file = readFileSync(path)
  let at = file.indexOf(text)
  assert.ok(at >= 0, text)
  for (; at >= 0; at = file.indexOf(text, at + 1)) for (let i = at; i < at + bytes; i++) file[i] = (file[i] ?? 0) ^ 1
  silently(path, () => writeFileSync(path, file))
}

function keepSums(path: string): void {
  const sums = new PageSums(path, createLog('silent'))
  sums.prepare()
  const db = new Database(path)
  // the pages that are read are recorded
  for (const table of tables) db.prepare(`SELECT * FROM "${table}" NOT INDEXED`).raw().all()
  db.close()
  sums.closed()
}

test('rows on a page with a wrong checksum are dropped and reported, and the checksums stay', async (t) => {
  const data = dataFolder(t)
  const path = join(data, 'cartbarn.db')
  const setup = new Database(path)
  setup.exec(`INSERT INTO user (user_id, name, key_hash, role, allowed_hardware_ids, is_active, created_at_ms,
      updated_at_ms, last_reset_ms) VALUES ('u1', 'One', 'k', 'user', '["cart-77"]', 1, 0, 0, 0)`)
  setup.close()
  keepSums(path)
  const sums = readFileSync(`${path}-sums`)
  flipBits(path, '["cart-77"]', 2)
  flipBits(path, 'e1500cart', 2)
  const { out, code } = await run(data)
  assert.equal(code, 0)
  assert.match(out, /^user: 0 rows, and some are missing:/m)
  assert.match(out, /^lock_event: \d+ rows, and some are missing:/m)
  const lost = lostRows(join(data, 'cartbarn-repaired.db'))
  assert.ok(lost > 0 && lost < 200, String(lost))
  assert.deepEqual(readFileSync(`${path}-sums`), sums)
})

test('pages with one wrong bit are recovered completely, and the old database is unchanged', async (t) => {
  const data = dataFolder(t)
  const path = join(data, 'cartbarn.db')
  keepSums(path)
  // in a row and in an index, on two pages
  flipBits(path, 'e1500cart', 1)
  const damaged = readFileSync(path)
  const sums = readFileSync(`${path}-sums`)
  const { out, code } = await run(data)
  assert.equal(code, 0)
  assert.match(out, /^Of these pages one bit was wrong; .*: \d+/m)
  assert.match(out, /^All of the \d+ rows/m)
  assert.equal(lostRows(join(data, 'cartbarn-repaired.db')), 0)
  assert.deepEqual(readFileSync(path), damaged)
  assert.deepEqual(readFileSync(`${path}-sums`), sums)
})

test('a block on a page with a wrong checksum is copied, since its own checksum validates it', async (t) => {
  const data = dataFolder(t)
  const path = join(data, 'cartbarn.db')
  keepSums(path)
  const page = pages.get('telemetry_block')?.findLast(({ kind }) => kind === 'overflow')?.page ?? 0
  const file = readFileSync(path)
  const at = (page - 1) * 4096 + 100
  file[at] = (file[at] ?? 0) ^ 3
  silently(path, () => writeFileSync(path, file))
  const { out } = await run(data)
  assert.match(out, /^telemetry_block: all 240 rows$/m)
})

test('a gateway starts after the repair of tables that it cannot start without', async (t) => {
  const data = dataFolder(t)
  for (const table of ['telemetry_log_end', 'sync_identity', 'device_state', 'config_version'])
    spoilPage(join(data, 'cartbarn.db'), pages.get(table)?.[0]?.page ?? 0, SPOILT_PAGES.noise())
  assert.equal((await run(data, '--yes')).code, 0)
  const gateway = await startGateway({ CARTBARN_DATA_DIR: data })
  await gateway.stop()
})

test('without a terminal and --yes the new database stays next to the old one', async (t) => {
  const data = dataFolder(t)
  const before = readFileSync(join(data, 'cartbarn.db'))
  const { code, out } = await run(data)
  assert.equal(code, 0)
  assert.match(out, /with --yes, or:\n {2}cd /)
  assert.deepEqual(readFileSync(join(data, 'cartbarn.db')), before)
  assert.equal(lostRows(join(data, 'cartbarn-repaired.db')), 0)
})

test('at a terminal it asks, and only yes puts the new database in place', async (t) => {
  const data = dataFolder(t)
  const kept = () => readdirSync(data).filter((name) => name.startsWith('damaged-')).length
  for (const [stdin, places] of [
    ['\n', 0],
    ['no\n', 0],
    ['Yes\n', 1],
  ] as const) {
    const { code, err } = await commands.run(repair, ['--data', data], { stdin, isTerminal: true })
    assert.equal(code, 0)
    assert.match(err, /Put it in the place of the old one, which is kept\?/)
    assert.equal(kept(), places, stdin)
  }
  assert.equal(lostRows(join(data, 'cartbarn.db')), 0)
})

test('rows that are only in the log are copied, and the old files stay unchanged', async (t) => {
  const data = dataFolder(t)
  const live = new Database(join(data, 'cartbarn.db'))
  live.pragma('wal_autocheckpoint = 0')
  live.exec("INSERT INTO removed_device (hardware_id, removed_at_ms) VALUES ('gone', 1)")
  const killed = join(data, 'killed')
  mkdirSync(killed)
  for (const name of ['cartbarn.db', 'cartbarn.db-wal']) copyFileSync(join(data, name), join(killed, name))
  live.close()
  assert.equal((await run(killed, '--yes')).code, 0)
  const db = new Database(join(killed, 'cartbarn.db'))
  assert.deepEqual(db.prepare('SELECT hardware_id FROM removed_device').pluck().all(), ['gone'])
  db.close()
})

test('it refuses while a gateway runs, in an empty folder, and without the list of tables', async (t) => {
  const data = dataFolder(t)
  const lock = new DataLock(data)
  lock.take()
  const running = await run(data)
  lock.release()
  assert.deepEqual(running.code, 1)
  assert.match(running.err, /another cartbarn is using the data folder/)
  const nowhere = await run(join(data, 'nowhere'))
  assert.match(nowhere.err, /has no database of a gateway/)
  for (const page of schemaPages) spoilPage(join(data, 'cartbarn.db'), page, SPOILT_PAGES.noise())
  const lost = await run(data)
  assert.match(lost.err, /restore a backup/)
  assert.ok(!existsSync(join(data, 'repair-unfinished')))
})

test('an interrupted replacement is finished by the next start, without the log of the old one', async (t) => {
  const data = dataFolder(t)
  copyFileSync(whole, join(data, 'cartbarn.db-successor'))
  const old = new Database(join(data, 'cartbarn.db'))
  old.pragma('wal_autocheckpoint = 0')
  old.exec('DELETE FROM device')
  const cut = join(data, 'cut')
  mkdirSync(cut)
  for (const name of ['cartbarn.db', 'cartbarn.db-wal', 'cartbarn.db-successor'])
    copyFileSync(join(data, name), join(cut, name))
  old.close()
  const gateway = await startGateway({ CARTBARN_DATA_DIR: cut })
  const db = new Database(join(cut, 'cartbarn.db'))
  assert.equal(db.prepare('SELECT count(*) FROM device').pluck().get(), 20)
  db.close()
  await gateway.stop()
})

test('a database of an older version is repaired, upgraded and started', async (t) => {
  const data = mkdtempSync(join(folder, 'old-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const path = join(data, 'cartbarn.db')
  const setup = openForSetup(path)
  migrate(setup, 12)
  setup.db.exec(`${COUNTED} INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms)
    SELECT 'e' || i, 'cart-1', 'i' || i, 'unlock', 'rfid', i FROM c`)
  const leaves = pagesOf(setup.db, 'lock_event').filter(({ kind }) => kind === 'leaf')
  setup.close()
  const { page = 0, cells = 0 } = leaves[3] ?? {}
  assert.ok(cells > 0)
  spoilPage(path, page, SPOILT_PAGES.zeros())
  const { code, err } = await run(data, '--yes')
  assert.deepEqual([code, err], [0, ''])
  const db = new Database(path)
  assert.equal(db.prepare('SELECT count(*) FROM lock_event').pluck().get(), 3000 - cells)
  assert.equal(db.prepare('SELECT count(*) FROM stored_block').pluck().get(), 0)
  db.close()
  const gateway = await startGateway({ CARTBARN_DATA_DIR: data })
  await gateway.stop()
})

/** Asserts that every page has a checksum, and a correct one. */
function assertSums(path: string): void {
  const db = new Database(path, { readonly: true })
  const pageCount = Number(db.pragma('page_count', { simple: true }))
  const isRight = db.prepare<[Buffer, number, Buffer], number | null>('SELECT page_is_right(?, ?, ?)').pluck()
  const [content, sums] = [readFileSync(path), readFileSync(`${path}-sums`)]
  for (let page = 1; page <= pageCount; page++) {
    const bytes = content.subarray((page - 1) * 4096, page * 4096)
    const at = HEADER_BYTES + (page - 1) * ENTRY_BYTES
    const sum = sums.subarray(at, at + ENTRY_BYTES)
    assert.equal(isRight.get(bytes, page, sum), 1, `page ${page}`)
  }
  db.close()
}

/** Returns the log entries of a start about the checksums that it finds. */
function logOfSums(path: string): string[] {
  const logged: string[] = []
  const sums = new PageSums(path, createLog('warn', { write: (line: string) => logged.push(line) }))
  sums.prepare()
  sums.closed()
  return logged
}

test('the new database has a checksum of each page before it is read for the first time', async (t) => {
  const data = dataFolder(t)
  const path = join(data, 'cartbarn.db')
  assert.equal((await run(data, '--yes')).code, 0)
  assert.ok(!readdirSync(data).some((name) => name !== 'cartbarn.db-sums' && name.endsWith('-sums')))
  assert.deepEqual(logOfSums(path), [])
  assertSums(path)
  flipBits(path, 'e1500cart', 2)
  const db = new Database(path, { readonly: true })
  assert.throws(() => db.prepare('SELECT * FROM lock_event NOT INDEXED').all(), { code: 'SQLITE_IOERR_DATA' })
  db.close()
})

test('a new database that is not yet in place has its own checksums file', async (t) => {
  const data = dataFolder(t)
  const { out } = await run(data)
  const path = join(data, 'cartbarn-repaired.db')
  const [, move = ''] = /^ {2}(cd .*)$/m.exec(out) ?? []
  assert.equal(spawnSync('sh', ['-c', move]).status, 0)
  assert.ok(!existsSync(path))
  assert.deepEqual(logOfSums(join(data, 'cartbarn.db')), [])
  assertSums(join(data, 'cartbarn.db'))
})

/** Kills the process before the nth time that a database or its checksums get or lose a name in the data folder. */
const KILLER = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  let left = Number(process.env.KILL_BEFORE)
  for (const name of ['renameSync', 'rmSync']) {
    const real = fs[name]
    fs[name] = (...args) => {
      const target = args.findLast((arg) => typeof arg === 'string')
      const isStep = /cartbarn(-repaired)?\\.db(-successor)?(-sums|-wal)?$/.test(target) && !/unfinished/.test(target)
      if (isStep && --left === 0) for (;;) process.kill(process.pid, 'SIGKILL')
      return real(...args)
    }
  }
  syncBuiltinESMExports()`)}`

test('a kill at any step leaves either database in place with its own checksums', async (t) => {
  const kept = mkdtempSync(join(folder, 'small-'))
  const setup = openForSetup(join(kept, 'cartbarn.db'))
  migrate(setup)
  setup.run("INSERT INTO removed_device VALUES ('cart-1', 1)")
  setup.close()
  keepSums(join(kept, 'cartbarn.db'))
  let replaced = 0
  let steps = 0
  for (let step = 1; steps === 0; step++) {
    const data = mkdtempSync(join(folder, 'step-'))
    t.after(() => rmSync(data, { recursive: true, force: true }))
    cpSync(kept, data, { recursive: true, preserveTimestamps: true })
    const path = join(data, 'cartbarn.db')
    const { signal, status } = spawnSync(
      process.execPath,
      ['--import', KILLER, ENTRY, 'repair', '--data', data, '--yes'],
      { env: { ...process.env, KILL_BEFORE: String(step) } },
    )
    finishReplacement(data)
    // no false alarm: no page counts as damaged, and none as belonging to another database
    assert.deepEqual(logOfSums(path), [], `step ${step}`)
    const isNew = epochOf(path) !== epochOf(join(kept, 'cartbarn.db'))
    if (isNew) replaced++
    assert.deepEqual(
      readdirSync(data).filter((name) => name.includes('successor')),
      [],
    )
    if (signal === null) {
      assert.deepEqual([status, isNew], [0, true])
      steps = step
    }
  }
  assert.ok(replaced > 2 && steps > 6, `${replaced} of ${steps} times`)
})

function epochOf(path: string): unknown {
  const db = new Database(path, { readonly: true })
  assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }])
  const sql = 'SELECT epoch FROM sync_identity, removed_device'
  const epoch = db.prepare(sql).pluck().get()
  assert.ok(epoch !== undefined)
  db.close()
  return epoch
}

test('it reports a system that does not support page checksums', (t) => {
  const data = dataFolder(t)
  const elsewhere = `data:text/javascript,${encodeURIComponent(`
    import os from 'node:os'
    import { syncBuiltinESMExports } from 'node:module'
    os.arch = () => 'unknown'
    syncBuiltinESMExports()`)}`
  const argv = ['--import', elsewhere, ENTRY, 'repair', '--data', data, '--yes']
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
  assert.equal(status, 0)
  assert.match(stdout, /^There are no checksums of pages on this system/m)
  assert.ok(!existsSync(join(data, 'cartbarn.db-sums')))
  assert.equal(lostRows(join(data, 'cartbarn.db')), 0)
})

test('killed at any moment, one of the two databases is in place', async (t) => {
  for (const afterMs of IS_LONG ? [250, 400, 500, 600, 700, 800] : [400, 700]) {
    const data = dataFolder(t)
    const child = spawn(process.execPath, [ENTRY, 'repair', '--data', data, '--yes'], { stdio: 'ignore' })
    const timer = setTimeout(() => child.kill('SIGKILL'), afterMs)
    await once(child, 'exit')
    clearTimeout(timer)
    const { code, err } = await run(data, '--yes')
    assert.equal(code, 0, err)
    assert.equal(lostRows(join(data, 'cartbarn.db')), 0)
  }
})
