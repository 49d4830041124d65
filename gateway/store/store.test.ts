import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { emptyState } from '#domain/latest-state.ts'
import { describeError } from '#shared/errors.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { toIso } from '#shared/time.ts'
import { NO_ZONE_STATE } from '#shared/zones/watch.ts'
import { passForOriginal } from '#testing/damage/pass-for-original.ts'
import { openUncheckedReader } from './db/connection.ts'
import { DiskUnreadableError } from './db/fault.ts'
import { Store } from './store.ts'
import { encodeStateChanges } from './telemetry/state-changes.ts'
import { BATTERY_STORED, GPS_STORED } from './telemetry/store-samples.ts'
import { readBlockRow } from './telemetry/unreadable-block.ts'
import type { AppendBatch, AppendResult, NewLockEvent } from './writer/append.ts'
import type { Appendable, Appender } from './writer/appender.ts'
import { CommitQueue } from './writer/commit-queue.ts'
import { Writer } from './writer/writer.ts'

const NOW_MS = Date.UTC(2026, 4, 1, 12)
const PAGE_BYTES = 4096
const log = createLog('silent')
const root = mkdtempSync(join(tmpdir(), 'cartbarn-store-'))
const opened: Store<Message>[] = []
after(async () => {
  // also closes stores of failed tests; stopping twice is harmless
  for (const store of opened) await store.stop()
  rmSync(root, { recursive: true, force: true })
})

/** Row as the writer takes it: device, time, lat E7, long E7, milli km/h, mV. */
type Row = [deviceId: number, atMs: number, lat: number, long: number, speed: number, voltage: number]

interface Message extends Appendable {
  samples: Row[]
  lockEvents: NewLockEvent[]
  quarantined: number
}

function message(fields: Partial<Message>): Message {
  return {
    rows: 1,
    sessionChanges: [],
    samples: [],
    lockEvents: [],
    quarantined: 0,
    onStored: () => undefined,
    onRefused: () => undefined,
    ...fields,
  }
}

function gpsRow(deviceId: number, atMs: number): Row {
  return [deviceId, atMs, 481_234_567, -115_000_000, 12_345, Number.NaN]
}

const UNSEEN = { state: emptyState(), updatedAtMs: 0, lastRespondedAtMs: null, watch: NO_ZONE_STATE }
const SEEN = {
  ...UNSEEN,
  state: { ...emptyState(), values: { speed: 1 }, atMs: { speed: NOW_MS } },
  updatedAtMs: NOW_MS,
  lastRespondedAtMs: NOW_MS,
}

class Recorder implements Appender<Message> {
  readonly results: AppendResult[] = []
  readonly refusals: string[] = []
  stored = 0

  encode(messages: readonly Message[]): AppendBatch {
    const samples = messages.flatMap((one) => one.samples)
    const deviceIds = new Set(samples.map(([deviceId]) => deviceId))
    return {
      samples: Float64Array.from(samples.flat()),
      stateChanges: encodeStateChanges([...deviceIds].map((deviceId) => ({ deviceId, before: UNSEEN, after: SEEN }))),
      lockEvents: messages.flatMap((one) => one.lockEvents),
      commandAcks: [],
      sessionChanges: messages.flatMap((one) => one.sessionChanges),
      quarantined: messages.flatMap((one) =>
        Array.from({ length: one.quarantined }, (_, i) => ({
          receivedAtMs: NOW_MS + i,
          hardwareId: 'cart-1',
          topic: 'dev/cart-1/tlm',
          reason: 'invalid_json',
          sizeBytes: 3,
          payload: new Uint8Array([1, 2, 255]),
        })),
      ),
    }
  }

  committed(_messages: readonly Message[], result: AppendResult): void {
    this.results.push(result)
  }

  announce(): void {
    this.stored++
  }

  discarded(): void {}

  refused(_message: Message, reason: string): void {
    this.refusals.push(reason)
  }
}

let folders = 0

function newFolder(): string {
  folders++
  return join(root, `store-${folders}`)
}

async function open(dataDir = newFolder()) {
  const store = new Store<Message>({ dataDir, readerThreads: 1, writeQueueRows: 10_000 }, log)
  const recorder = new Recorder()
  store.queue.attach(recorder)
  opened.push(store)
  await store.start()
  return { store, recorder, dataDir }
}

async function stored(store: Store<Message>, recorder: Recorder, ...messages: Message[]): Promise<void> {
  const before = recorder.stored + recorder.refusals.length
  for (const one of messages) store.queue.append(one)
  while (recorder.stored + recorder.refusals.length < before + messages.length) await new Promise(setImmediate)
}

function createDevice(store: Store<Message>, hardwareId: string) {
  return store.write('createDevice', {
    hardwareId,
    deviceType: 'teebox',
    name: 'Ü',
    groupId: null,
    publication: { version: null, sessionChanges: [] },
    mqttPasswordHash: 'hash',
    nowMs: NOW_MS,
  })
}

function createUser(store: Store<Message>, userId: string) {
  return store.write('createUser', {
    userId,
    name: 'Jane',
    email: null,
    role: 'admin',
    allowedHardwareIds: ['b', 'a'],
    keyHash: `hash-${userId}`,
    nowMs: NOW_MS,
  })
}

async function history(store: Store<Message>, deviceId: number, stream: 'gps' | 'battery' = 'gps') {
  const page = await store.readers.run(
    'historyPage',
    {
      stream,
      deviceId,
      hardwareId: 'cart-1',
      shortId: 'abcdefgh',
      fromMs: 0,
      toMs: Number.MAX_SAFE_INTEGER,
      order: 'asc',
      limit: 10_000,
      format: 'json',
      previousMs: null,
    },
    { owner: 'test' },
  )
  return JSON.parse(`[${Buffer.from(page.text).toString()}]`)
}

test('an empty folder becomes a database, for its owner only', async () => {
  const { store, dataDir } = await open()
  assert.deepEqual(store.read.devices(), [])
  assert.deepEqual(store.read.users(), [])
  assert.deepEqual(store.read.fleetCounts(), { gps: 0, battery: 0 })
  assert.deepEqual(store.health, { isUsable: true, detail: null })
  assert.equal(statSync(dataDir).mode & 0o777, 0o700)
  await store.stop()
  const db = new Database(join(dataDir, 'cartbarn.db'), { readonly: true })
  assert.ok(Number(db.pragma('user_version', { simple: true })) >= 1)
  assert.equal(db.pragma('journal_mode', { simple: true }), 'wal')
  db.close()
})

test('an empty file becomes a database too', async () => {
  const { store, dataDir } = await open()
  await store.stop()
  const path = join(dataDir, 'cartbarn.db')
  rmSync(path)
  // a user who empties a folder also deletes this file; with it the gateway reports a lost database:
  // gateway/upgrade.test.ts
  rmSync(`${path}-sums`, { force: true })
  writeFileSync(path, '')
  const again = await open(dataDir)
  assert.deepEqual(again.store.read.devices(), [])
  await again.store.stop()
})

test('a file of a newer program is rejected with an explanation and left unchanged', async () => {
  const { store, dataDir } = await open()
  await createUser(store, 'u1')
  await store.stop()
  const path = join(dataDir, 'cartbarn.db')
  const db = new Database(path)
  db.pragma('user_version = 999')
  db.close()
  await assert.rejects(open(dataDir), /schema 999.*newer/)
  const after = new Database(path, { readonly: true })
  assert.equal(after.pragma('user_version', { simple: true }), 999)
  assert.deepEqual(after.prepare('SELECT count(*) AS n FROM user').get(), { n: 1 })
  after.close()
})

test('a file that is not a database is rejected', async () => {
  const { store, dataDir } = await open()
  await store.stop()
  writeFileSync(join(dataDir, 'cartbarn.db'), 'this is a letter to my aunt '.repeat(100))
  await assert.rejects(open(dataDir), /not a database/)
})

test('stopping twice, or stopping a store that never started, is harmless', async () => {
  const { store } = await open()
  await store.stop()
  await store.stop()
  await new Store({ dataDir: newFolder(), readerThreads: 1, writeQueueRows: 1000 }, log).stop()
})

test('a restart keeps all data', async () => {
  const { store, recorder, dataDir } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  await createUser(store, 'u1')
  await store.write('recordUsage', [
    {
      userId: 'u1',
      totalRequests: 3,
      requestsToday: 2,
      lastResetMs: 1,
      firstUsedAtMs: 2,
      lastUsedAtMs: null,
    },
  ])
  await stored(
    store,
    recorder,
    message({
      samples: [gpsRow(deviceId, NOW_MS), [deviceId, NOW_MS, Number.NaN, Number.NaN, Number.NaN, 51_234]],
    }),
    message({ lockEvents: [lockEvent('e1')] }),
    message({ quarantined: 1 }),
  )
  const everything = async (of: Store<Message>) => ({
    devices: of.read.devices(),
    users: of.read.users(),
    counts: of.read.deviceCounts(deviceId),
    fleet: of.read.fleetCounts(),
    gps: [of.read.latestGps(deviceId), await history(of, deviceId)],
    battery: [of.read.latestBattery(deviceId), await history(of, deviceId, 'battery')],
    lockEvents: await of.readers.run('lockEvents', { order: 'desc', limit: 10, offset: 0 }, { owner: 'test' }),
    quarantine: of.read.quarantine(10).map((entry) => ({ ...entry, payload: [...entry.payload] })),
  })
  const before = await everything(store)
  assert.equal(before.devices.length, 1)
  assert.equal(before.gps.flat().length, 2)
  assert.equal(before.battery.flat().length, 2)
  assert.equal(before.lockEvents?.length, 1)
  assert.deepEqual(before.quarantine[0]?.payload, [1, 2, 255])
  await store.stop()
  const again = await open(dataDir)
  assert.deepEqual(await everything(again.store), before)
  await again.store.stop()
})

function lockEvent(eventId: string, fields: Partial<NewLockEvent> = {}): NewLockEvent {
  return {
    eventId,
    hardwareId: 'cart-1',
    shortId: 'aaaaaaaa',
    identity: eventId,
    event: 'lock',
    source: 'key',
    atMs: NOW_MS,
    code: null,
    commandId: null,
    ...fields,
  }
}

test('the result of a message is reported row by row: a repeated record or event is not new', async () => {
  const { store, recorder } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  const both: Row = [deviceId, NOW_MS, 1, 2, Number.NaN, 50_000]
  const events = [lockEvent('e1'), lockEvent('e2', { identity: 'e1' }), lockEvent('e3')]
  await stored(store, recorder, message({ samples: [both, both, gpsRow(deviceId, NOW_MS + 1)], lockEvents: events }))
  const [result] = recorder.results
  assert.deepEqual([...(result?.sampleFlags ?? [])], [GPS_STORED | BATTERY_STORED, 0, GPS_STORED])
  assert.deepEqual(result?.lockEventStored, [true, false, true])
  assert.deepEqual(store.read.fleetCounts(), { gps: 2, battery: 1 })
  await store.stop()
})

test('counts, first and last time are right whatever the order of arrival', async () => {
  const { store, recorder } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  const other = await createDevice(store, 'cart-2')
  for (const seconds of [[5, 3], [9], [1, 4, 4], [3]]) {
    await stored(store, recorder, message({ samples: seconds.map((s) => gpsRow(deviceId, NOW_MS + s)) }))
  }
  const nothing = { count: 0, firstMs: null, lastMs: null }
  assert.deepEqual(store.read.deviceCounts(deviceId), {
    gps: { count: 5, firstMs: NOW_MS + 1, lastMs: NOW_MS + 9 },
    battery: nothing,
  })
  assert.deepEqual(store.read.deviceCounts(other.deviceId), { gps: nothing, battery: nothing })
  assert.equal(store.read.latestGps(deviceId)?.atMs, NOW_MS + 9)
  await store.stop()
})

test('a row that the database rejects fails its own message and no other', async () => {
  const { store, recorder } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  await stored(
    store,
    recorder,
    message({ samples: [gpsRow(deviceId, NOW_MS)] }),
    message({ samples: [gpsRow(deviceId, NOW_MS + 1), gpsRow(deviceId, NOW_MS + 0.5)] }),
    message({ samples: [gpsRow(deviceId, NOW_MS + 2)] }),
  )
  assert.equal(recorder.refusals.length, 1)
  assert.deepEqual(
    (await history(store, deviceId)).map((record: { timestamp: string }) => record.timestamp),
    [toIso(NOW_MS), toIso(NOW_MS + 2)],
  )
  assert.equal(store.read.deviceCounts(deviceId).gps.count, 2)
  assert.equal(store.health.isUsable, true)
  await store.stop()
})

test('a thousand concurrent messages take a handful of transactions', async () => {
  const { store, dataDir } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  await store.stop()
  const writer = new Writer(join(dataDir, 'cartbarn.db'), log)
  await writer.start()
  let transactions = 0
  const counting: Pick<Writer, 'perform'> = {
    perform: (request) => {
      transactions++
      return writer.perform(request)
    },
  }
  const queue = new CommitQueue<Message>(counting, 10_000, log)
  const recorder = new Recorder()
  queue.attach(recorder)
  for (let i = 0; i < 1500; i++) queue.append(message({ samples: [gpsRow(deviceId, NOW_MS + i)] }))
  await queue.stop()
  await writer.stop()
  assert.equal(recorder.stored, 1500)
  assert.ok(transactions <= 3, `${transactions} transactions`)
})

test('rows queued when the store stops are on the disk', async () => {
  const { store, recorder, dataDir } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  for (let i = 0; i < 100; i++) store.queue.append(message({ samples: [gpsRow(deviceId, NOW_MS + i)] }))
  await store.stop()
  assert.equal(recorder.stored, 100)
  const again = await open(dataDir)
  assert.equal(again.store.read.deviceCounts(deviceId).gps.count, 100)
  await again.store.stop()
})

test('writes and messages run in the order they arrived', async () => {
  const { store, recorder } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  store.queue.append(message({ samples: [gpsRow(deviceId, NOW_MS)] }))
  const deleted = await store.write('deleteDevice', { hardwareId: 'cart-1', nowMs: 0 })
  assert.equal(deleted.deviceId, deviceId)
  assert.equal(recorder.stored, 1)
  await store.stop()
})

test('a deleted device is not counted, and its id is never used again', async () => {
  const { store, recorder } = await open()
  const kept = await createDevice(store, 'cart-1')
  const doomed = await createDevice(store, 'cart-2')
  const rows = [gpsRow(doomed.deviceId, NOW_MS), gpsRow(kept.deviceId, NOW_MS)]
  await stored(store, recorder, message({ samples: rows }))
  await store.write('deleteDevice', { hardwareId: 'cart-2', nowMs: 0 })
  assert.deepEqual(store.read.fleetCounts(), { gps: 1, battery: 0 })
  while (await store.write('deleteTelemetryStep', undefined));
  assert.ok((await createDevice(store, 'cart-2')).deviceId > doomed.deviceId)
  await store.stop()
})

test('the quarantine keeps the newest 1000', async () => {
  const { store, recorder } = await open()
  await stored(store, recorder, message({ quarantined: 1005 }))
  const entries = store.read.quarantine(5000)
  assert.equal(entries.length, 1000)
  assert.equal(entries[0]?.receivedAtMs, NOW_MS + 1004)
  await store.stop()
})

test('a write that a rule rejects leaves no trace', async () => {
  const { store } = await open()
  await createUser(store, 'u1')
  await assert.rejects(store.write('updateUser', { userId: 'u1', role: 'user', name: 'X', nowMs: NOW_MS + 1 }), {
    code: 'last_admin',
  })
  await assert.rejects(store.write('deleteUser', { userId: 'u1' }), { code: 'last_admin' })
  const [user] = store.read.users()
  assert.deepEqual([user?.name, user?.role, user?.updatedAtMs], ['Jane', 'admin', NOW_MS])
  await store.stop()
})

test('a page of history equals filtering, sorting and slicing an array', async () => {
  const { store, recorder } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  const times = Array.from({ length: 60 }, (_, i) => NOW_MS + ((i * 37) % 60) * 10)
  await stored(store, recorder, message({ samples: times.map((atMs) => gpsRow(deviceId, atMs)) }))
  const bound = fc.integer({ min: NOW_MS - 15, max: NOW_MS + 615 })
  const query = fc.record({
    fromMs: bound,
    toMs: bound,
    order: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 70 }),
  })
  await fc.assert(
    fc.asyncProperty(query, async ({ fromMs, toMs, order, limit }) => {
      const page = await store.readers.run(
        'historyPage',
        {
          stream: 'gps',
          deviceId,
          hardwareId: 'cart-1',
          shortId: 'abcdefgh',
          fromMs,
          toMs,
          order,
          limit,
          format: 'json',
          previousMs: null,
        },
        { owner: 'test' },
      )
      const records: { timestamp: string }[] = JSON.parse(`[${Buffer.from(page.text).toString()}]`)
      const expected = times
        .filter((atMs) => atMs >= fromMs && atMs <= toMs)
        .sort((a, b) => (order === 'asc' ? a - b : b - a))
        .slice(0, limit)
      assert.deepEqual(
        records.map(({ timestamp }) => Date.parse(timestamp)),
        expected,
      )
      assert.equal(page.rows, expected.length)
      if (expected.length > 0) assert.equal(page.lastAtMs, expected.at(-1))
    }),
    { numRuns: 100 },
  )
  await store.stop()
})

test('a data folder has one gateway at a time', async () => {
  const dataDir = mkdtempSync(join(root, 'shared-'))
  const options = { dataDir, readerThreads: 1, writeQueueRows: 1000 }
  const first = new Store<Message>(options, log)
  const second = new Store<Message>(options, log)
  opened.push(first, second)
  await first.start()
  await assert.rejects(second.start(), /another cartbarn is using the data folder/)
  await first.stop()
  await second.start()
})

test('a damaged frame in the log of a killed gateway loses no data without a report', async () => {
  const { store, recorder, dataDir } = await open()
  const { deviceId } = await createDevice(store, 'cart-1')
  for (let i = 0; i < 30; i++) await stored(store, recorder, message({ samples: [gpsRow(deviceId, NOW_MS + i)] }))
  const killed = newFolder()
  mkdirSync(killed, { mode: 0o700 })
  for (const name of ['cartbarn.db', 'cartbarn.db-wal', 'cartbarn.db-shm', 'cartbarn.db-open'])
    copyFileSync(join(dataDir, name), join(killed, name))
  passForOriginal(killed)
  await store.stop()
  const path = join(killed, 'cartbarn.db-wal')
  const bytes = readFileSync(path)
  const at = Math.floor(bytes.length / 3)
  bytes[at] = Number(bytes[at]) ^ 4
  writeFileSync(path, bytes)

  const { store: again } = await open(killed)
  assert.equal(again.read.deviceCounts(deviceId).gps.count, 30)
  assert.deepEqual(
    again.damage.all.map(({ place, outcome }) => [place, outcome]),
    [['log', 'mended']],
  )
  await again.stop()
})

test('a read from a disk that returns no data fails for that reason, not because the data is damaged', async () => {
  const { store, dataDir } = await open()
  const path = join(dataDir, 'cartbarn.db')
  const limits = { bytes: 10_000, rows: 10 }
  const readLong = () => store.readers.run('nextRows', { stream: 'entities', after: 0, limits }, { owner: 'test' })
  await readLong()
  await createDevice(store, 'cart-1')
  const database = new Database(path)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  const reading = openUncheckedReader(path)
  // SQLite takes both for damage: pages with other content, and those of a disk that fails
  const file = openSync(path, 'r+')
  const bytes = statSync(path).size - PAGE_BYTES
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, PAGE_BYTES)
  closeSync(file)
  renameSync(path, `${path}-aside`)
  mkdirSync(path)
  for (const read of [async () => store.read.removedDevices(), readLong])
    await assert.rejects(read, (error: Error) => {
      assert.match(describeError(error.cause), /^the disk does not return its data/, error.message)
      return true
    })
  // a block that cannot be read would go into the quarantine
  assert.throws(() => readBlockRow(reading, 1), DiskUnreadableError)
  reading.close()
  rmdirSync(path)
  renameSync(`${path}-aside`, path)
  await store.stop()
})

test('freed memory is returned to the system while the store runs', async (t) => {
  const { setInterval: every } = globalThis
  t.mock.method(globalThis, 'setInterval', (call: () => void) => every(call, 20))
  await open()
  const bulk = new Database(':memory:')
  bulk.exec('CREATE TABLE bulk (content BLOB)')
  const insert = bulk.prepare('INSERT INTO bulk VALUES (randomblob(3000))')
  for (let i = 0; i < 20_000; i++) insert.run()
  // allocated above what is freed, so that glibc does not return that memory to the system
  const above = new Database(':memory:')
  t.after(() => above.close())
  above.exec('CREATE TABLE above (content BLOB); INSERT INTO above VALUES (randomblob(100000))')
  const fullBytes = process.memoryUsage.rss()
  bulk.close()
  await eventually(() => process.memoryUsage.rss() < fullBytes - 30e6, 'memory is given back')
})
