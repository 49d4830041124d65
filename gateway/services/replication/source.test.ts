import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import type { SyncSourcePort as SourceOfAgent, StreamPart } from '#shared/sync-source.ts'
import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import {
  entityRowSchema,
  geofenceEventRowSchema,
  lockEventRowSchema,
  noteRowSchema,
  type SyncStream,
} from '#shared/wire/replication/sync.ts'
import type { Connection } from '#store/db/connection.ts'
import { encodeBatch } from '#store/telemetry/batch.ts'
import { openSyncSource } from '#testing/open-sync-source.ts'
import { appendToLog, batchOf, blocksIn, registerDevice, type TestSample } from '#testing/telemetry-tables.ts'
import type { SyncSource } from './source.ts'

const NOON_MS = Date.UTC(2026, 4, 1, 12)
const ROOM = { bytes: 262_144, rows: 2000 }
const { signal } = new AbortController()

/** Source with the type that the agent expects. */
const asAgentKnowsIt = (source: SyncSource): SourceOfAgent => source

function rowsOf(part: StreamPart | null): Record<string, unknown>[] {
  assert.ok(part !== null)
  assert.equal(part.encoding, 'rows-1')
  const rows: Record<string, unknown>[] = JSON.parse(Buffer.from(part.data).toString())
  assert.equal(rows.length, part.count)
  return rows
}

/** Returns `hardware id stream seconds after noon` of all records. */
function recordsOf(part: StreamPart | null): string[] {
  assert.ok(part !== null)
  assert.equal(part.encoding, 'runs-1')
  const keys = decodeRuns(part.data).flatMap(({ hardwareId, stream, records }) =>
    [...records.atMs].map((atMs) => `${hardwareId} ${stream} ${(atMs - NOON_MS) / 1000}`),
  )
  assert.equal(keys.length, part.count)
  return keys
}

/** Returns `end: rows` of each batch. */
function sizesOf(parts: readonly StreamPart[]): string[] {
  return parts.map(({ to, count }) => `${to}: ${count}`)
}

/** Returns a sample per second of each device; devices are numbered from 1. */
function samples(fromS: number, seconds: number, devices = 1, streams: TestSample['streams'] = 'gps') {
  return Array.from({ length: seconds * devices }, (_, i) => ({
    deviceId: 1 + (i % devices),
    atMs: NOON_MS + (fromS + Math.floor(i / devices)) * 1000,
    streams,
    value: 1 + (i % 60_000),
  }))
}

function addLockEvent(connection: Connection, id: string, metadata: string | null = null): void {
  connection.run(
    `INSERT INTO lock_event (event_id, hardware_id, short_id, identity, event, source, at_ms, code, command_id,
      metadata)
     VALUES (?, 'cart-1', 'aaaaaaaa', ?, 'unlock', 'keypad', ?, '1234', NULL, ?)`,
    id,
    id,
    NOON_MS,
    metadata,
  )
}

function addNote(connection: Connection, id: string): number {
  const sql = `INSERT INTO note (note_id, kind, at_ms, body) VALUES (?, 'gap', ?, '{"reason":"purge"}')`
  connection.run(sql, id, NOON_MS)
  return connection.get<{ seq: number }>('SELECT max(seq) AS seq FROM note')?.seq ?? 0
}

function addMark(connection: Connection, noteSeq: number, telemetrySeq: number, historySeq: number): void {
  const sql = 'INSERT INTO erase_mark (note_seq, telemetry_seq, history_seq) VALUES (?, ?, ?)'
  connection.run(sql, noteSeq, telemetrySeq, historySeq)
}

/** Reads all batches of a stream after a position. */
async function drain(source: SyncSource, stream: SyncStream, limits = ROOM, after = 0): Promise<StreamPart[]> {
  const parts: StreamPart[] = []
  for (let next = after; ; ) {
    const part = await source.nextPart(stream, next, limits, signal)
    if (part === null) return parts
    assert.ok(part.to > next, 'a part that leads nowhere')
    next = part.to
    parts.push(part)
  }
}

test('events are rows in the order of their schemas, and the stream ends are reported', async (t) => {
  const { source, other } = await openSyncSource(t)
  addLockEvent(other, 'lck-1', '{"a":[1]}')
  addNote(other, 'note-1')
  other.run(
    `INSERT INTO geofence_event
       (event_id, hardware_id, short_id, event, group_id, zone_id, zone_name, zone_type, at_ms, lat_e7, long_e7)
     VALUES ('geo-1', 'cart-1', 'aaaaaaaa', 'enter', 1, 'z1', 'Pond', 'no_go', ?, 473123456, -85000001)`,
    NOON_MS,
  )
  const next = (stream: SyncStream) => source.nextPart(stream, 0, ROOM, signal)
  const [lockEvent] = rowsOf(await next('lock_events'))
  assert.deepEqual(Object.keys(lockEvent ?? {}), Object.keys(lockEventRowSchema.shape))
  assert.deepEqual(lockEventRowSchema.parse(lockEvent).metadata, { a: [1] })
  const [geofenceEvent] = rowsOf(await next('geofence_events'))
  assert.deepEqual(Object.keys(geofenceEvent ?? {}), Object.keys(geofenceEventRowSchema.shape))
  const { lat, long } = geofenceEventRowSchema.parse(geofenceEvent)
  assert.deepEqual([lat, long], [47.3123456, -8.5000001])
  const note = await next('notes')
  assert.deepEqual(Object.keys(rowsOf(note)[0] ?? {}), Object.keys(noteRowSchema.shape))
  assert.deepEqual([note?.to, note?.oldestMs], [1, NOON_MS])
  assert.equal(await source.nextPart('notes', 1, ROOM, signal), null)
  const ends = asAgentKnowsIt(source).ends()
  assert.deepEqual([ends.notes, ends.lock_events, ends.geofence_events, ends.telemetry], [1, 1, 1, 0])
})

test('a batch ends at its limits, and one row always fits', async (t) => {
  const { source, other } = await openSyncSource(t)
  for (let i = 1; i <= 600; i++) addLockEvent(other, `lck-${i}`)
  const parts = await drain(source, 'lock_events', { bytes: 262_144, rows: 250 })
  assert.deepEqual(sizesOf(parts), ['250: 250', '500: 250', '600: 100'])
  const small = await drain(source, 'lock_events', { bytes: 2000, rows: 1000 })
  assert.ok(small.every(({ data }) => data.length <= 2000))
  assert.equal(small.flatMap(rowsOf).length, 600)
  const counts = (await drain(source, 'lock_events', { bytes: 1, rows: 1 })).map(({ count }) => count)
  assert.deepEqual(counts, Array(600).fill(1))
})

test('an entity is its row at the time of sending, null if deleted, and never a secret', async (t) => {
  const { source, other, store } = await openSyncSource(t)
  registerDevice(other, 1)
  registerDevice(other, 2)
  other.run(`INSERT INTO device_config (device_id, config) VALUES (1, '{"a":1}')`)
  other.run(`INSERT INTO device_group VALUES (7, 'West', 1, 2)`)
  other.run(`INSERT INTO group_config VALUES (7, 'a/b', '{"b":2}')`)
  other.run(`INSERT INTO device_type VALUES ('a/b', 'd', '{}', '{}', '{"c":{}}')`)
  other.run(`INSERT INTO geofence_set (group_id, version, zones, updated_at_ms) VALUES (7, 3, '[{"id":1}]', 5)`)
  await store.write('createUser', {
    userId: 'usr_1',
    name: 'Ann',
    email: null,
    role: 'user',
    keyHash: 'SECRET',
    nowMs: 9,
    allowedHardwareIds: ['cart-1'],
  })
  other.run(
    `INSERT INTO command (command_id, hardware_id, short_id, device_type, command, params, ttl_s, status,
      requested_by, created_at_ms)
     VALUES ('cmd-1', 'cart-1', 's', 'teebox', 'lock', '{"x":1}', 60, 'pending', 'usr_1', 11)`,
  )
  other.run(
    `INSERT INTO audit_entry (entry_id, at_ms, user_id, address, action, target, before, after)
     VALUES ('e-1', 12, 'usr_1', '10.0.0.7', 'device.updated', 'cart-1', '{"name":null}', '{"name":"Cart one"}')`,
  )
  other.run('UPDATE device SET name = ? WHERE device_id = 1', 'Cart one')
  other.run('DELETE FROM device WHERE device_id = 2')
  const parts = await drain(source, 'entities', { bytes: 1, rows: 100 })
  const text = parts.map(({ data }) => Buffer.from(data).toString()).join()
  assert.doesNotMatch(text, /SECRET|hash|"x"\}/)
  const all = parts.flatMap(rowsOf).map((row) => entityRowSchema.parse(row))
  const [ofUser, ...others] = all.filter(({ body }) => body?.action === 'user.created')
  assert.deepEqual([ofUser?.table, ofUser?.body?.target, others], ['audit_entry', 'usr_1', []])
  const rows = all.filter((row) => row !== ofUser)
  const bodies = new Map(rows.map(({ table, key, body }) => [`${table} ${key}`, body]))
  assert.equal(bodies.size, rows.length)
  assert.deepEqual(
    bodies,
    new Map<string, unknown>([
      ['device_config cart-1', { hardware_id: 'cart-1', config: { a: 1 } }],
      ['device_group 7', { group_id: 7, name: 'West', created_at_ms: 1, updated_at_ms: 2 }],
      ['group_config 7/a/b', { group_id: 7, device_type: 'a/b', config: { b: 2 } }],
      ['device_type a/b', { name: 'a/b', description: 'd', defaults: {}, config_schema: {}, commands: { c: {} } }],
      ['geofence_set 7', { group_id: 7, version: 3, zones: [{ id: 1 }], updated_at_ms: 5 }],
      [
        'user usr_1',
        {
          user_id: 'usr_1',
          name: 'Ann',
          email: null,
          role: 'user',
          is_active: true,
          allowed_hardware_ids: ['cart-1'],
          mask_codes: false,
          created_at_ms: 9,
        },
      ],
      [
        'command cmd-1',
        {
          command_id: 'cmd-1',
          hardware_id: 'cart-1',
          short_id: 's',
          device_type: 'teebox',
          command: 'lock',
          params: { x: 1 },
          metadata: null,
          ttl_s: 60,
          status: 'pending',
          requested_by: 'usr_1',
          retry_of: null,
          created_at_ms: 11,
          published_at_ms: null,
          acknowledged_at_ms: null,
          completed_at_ms: null,
          error: null,
          late_ack: null,
        },
      ],
      [
        'audit_entry e-1',
        {
          entry_id: 'e-1',
          at_ms: 12,
          user_id: 'usr_1',
          person: null,
          session_id: null,
          address: '10.0.0.7',
          action: 'device.updated',
          target: 'cart-1',
          before: { name: null },
          after: { name: 'Cart one' },
        },
      ],
      [
        'device cart-1',
        {
          device_id: 1,
          hardware_id: 'cart-1',
          short_id: 'short-1',
          device_type: 'teebox',
          name: 'Cart one',
          cart: null,
          group_id: null,
          created_at_ms: 0,
          updated_at_ms: 0,
        },
      ],
      ['device cart-2', null],
    ]),
  )
})

test('samples are sent in whole rows of the log, in batches by device', async (t) => {
  const { source, other } = await openSyncSource(t)
  registerDevice(other, 1)
  registerDevice(other, 2)
  appendToLog(other, samples(0, 2, 2, 'both'))
  appendToLog(other, samples(2, 1, 2).toReversed())
  appendToLog(other, samples(3, 4, 2, 'battery'))
  const [first, ...more] = await drain(source, 'telemetry')
  assert.deepEqual(more, [])
  assert.deepEqual([first?.to, first?.count, first?.oldestMs], [14, 18, NOON_MS])
  assert.deepEqual(recordsOf(first ?? null).slice(0, 4), [
    'cart-1 gps 0',
    'cart-1 gps 1',
    'cart-1 gps 2',
    'cart-1 battery 0',
  ])
  const limited = await drain(source, 'telemetry', { bytes: 262_144, rows: 10 })
  assert.deepEqual(sizesOf(limited), ['6: 10', '14: 8'])
  assert.deepEqual(limited.flatMap(recordsOf).sort(), recordsOf(first ?? null).sort())
  const single = await drain(source, 'telemetry', { bytes: 1, rows: 2000 })
  assert.equal(single.length, 14)
  for (const [i, { to }] of single.entries()) assert.equal(to, i + 1)
  assert.deepEqual(single.flatMap(recordsOf).sort(), recordsOf(first ?? null).sort())
})

test('a row too large for a batch is divided, and the byte limit is kept', async (t) => {
  const { source, other } = await openSyncSource(t)
  registerDevice(other, 1)
  appendToLog(other, samples(0, 5000))
  appendToLog(other, samples(5000, 10))
  const byRows = await drain(source, 'telemetry', { bytes: 262_144, rows: 2000 })
  assert.deepEqual(sizesOf(byRows), ['2000: 2000', '4000: 2000', '5000: 1000', '5010: 10'])
  const byBytes = await drain(source, 'telemetry', { bytes: 1024, rows: 5000 })
  assert.ok(byBytes.every(({ data }) => data.length <= 1024))
  assert.equal(new Set(byBytes.flatMap(recordsOf)).size, 5010)
})

test('a batch from a cursor in the middle of a row has only the rest of that row', async (t) => {
  const { source, other } = await openSyncSource(t)
  registerDevice(other, 1)
  appendToLog(other, samples(0, 10))
  appendToLog(other, samples(10, 2))
  const part = await source.nextPart('telemetry', 7, ROOM, signal)
  assert.deepEqual([part?.to, recordsOf(part)], [12, [7, 8, 9, 10, 11].map((s) => `cart-1 gps ${s}`)])
})

test('samples of a removed device are left out, and the cursor passes them', async (t) => {
  const { source, other } = await openSyncSource(t)
  registerDevice(other, 1)
  appendToLog(other, samples(0, 3, 2))
  assert.deepEqual(recordsOf(await source.nextPart('telemetry', 0, ROOM, signal)).length, 3)
  other.run('DELETE FROM device')
  const part = await source.nextPart('telemetry', 0, ROOM, signal)
  assert.deepEqual([part?.to, part?.count, part?.oldestMs], [6, 0, null])
  assert.deepEqual(recordsOf(part), [])
})

test('a log sealed past the cursor continues at its position, and its blocks are history', async (t) => {
  const { source, other, seal, acknowledge } = await openSyncSource(t)
  registerDevice(other, 1)
  appendToLog(other, samples(0, 100))
  await acknowledge('telemetry', 40)
  seal()
  appendToLog(other, samples(100, 5))
  const part = await source.nextPart('telemetry', 40, ROOM, signal)
  assert.deepEqual([part?.to, part?.count], [105, 5])
  const [history, ...more] = await drain(source, 'history')
  assert.deepEqual(more, [])
  assert.deepEqual([history?.to, history?.count, history?.oldestMs], [1, 100, NOON_MS])
  const [sent] = decodeBlocks(history?.data ?? new Uint8Array())
  const [stored] = blocksIn(other)
  assert.equal(sent?.hardwareId, 'cart-1')
  assert.deepEqual(Buffer.from(sent?.block ?? []), stored?.records)
  await acknowledge('telemetry', 105)
  await acknowledge('history', 1)
  seal()
  // the block that replaced the first contains nothing new
  assert.deepEqual(await drain(source, 'history', ROOM, 1), [])
})

test('history ends at the batch limits, leaves out removed devices, and one block always fits', async (t) => {
  const { source, other, seal } = await openSyncSource(t)
  for (const deviceId of [1, 2, 3]) registerDevice(other, deviceId)
  appendToLog(other, samples(0, 4096, 3))
  seal()
  other.run('DELETE FROM device WHERE device_id = 2')
  const parts = await drain(source, 'history', { bytes: 262_144, rows: 4096 })
  const counts = parts.map(({ count }) => count)
  assert.deepEqual(counts, [4096, 4096])
  const shown = parts.map(({ data }) => decodeBlocks(data).map(({ hardwareId }) => hardwareId))
  assert.deepEqual(shown, [
    ['cart-1', 'cart-1'],
    ['cart-3', 'cart-3'],
  ])
  const single = await drain(source, 'history', { bytes: 1, rows: 1 })
  const found = single.map(({ count }) => count)
  assert.deepEqual(found, [2048, 2048, 2048, 2048])
  other.run('DELETE FROM device')
  const [nothing] = await drain(source, 'history')
  assert.deepEqual([nothing?.to, nothing?.count, decodeBlocks(nothing?.data ?? new Uint8Array())], [6, 0, []])
})

test('a batch ends at an erasure mark, and the next one waits until the erase note is acknowledged', async (t) => {
  const { source, other, seal, acknowledge } = await openSyncSource(t)
  for (const deviceId of [1, 2]) registerDevice(other, deviceId)
  appendToLog(other, samples(0, 10))
  seal()
  appendToLog(
    other,
    samples(10, 4).map((sample) => ({ ...sample, deviceId: 2 })),
  )
  addNote(other, 'before')
  const noteSeq = addNote(other, 'erase')
  addMark(other, noteSeq, 14, 1)
  appendToLog(
    other,
    samples(14, 6).map((sample) => ({ ...sample, deviceId: 2 })),
  )
  const to = async (stream: SyncStream, after: number) =>
    (await source.nextPart(stream, after, ROOM, signal))?.to ?? null
  assert.deepEqual([await to('telemetry', 0), await to('telemetry', 14)], [14, null])
  seal()
  assert.deepEqual([await to('history', 0), await to('history', 1)], [1, null])
  appendToLog(other, samples(20, 1))
  assert.deepEqual([await to('telemetry', 10), await to('telemetry', 20)], [null, null])
  await acknowledge('notes', noteSeq - 1)
  assert.equal(await to('telemetry', 14), null)
  await acknowledge('notes', noteSeq)
  assert.deepEqual([await to('telemetry', 14), await to('history', 1)], [21, 2])
})

test('a damaged block is recorded as lost before a cursor passes it; earlier data is sent first', async (t) => {
  const { source, other, seal } = await openSyncSource(t)
  for (const deviceId of [1, 2, 3]) registerDevice(other, deviceId)
  appendToLog(other, samples(0, 50, 3))
  seal()
  other.run(
    "UPDATE telemetry_block SET records = CAST(substr(records, 1, 40) || x'ff' || substr(records, 42) AS BLOB) " +
      'WHERE block_id = 2',
  )
  const first = await source.nextPart('history', 0, ROOM, signal)
  assert.deepEqual([first?.to, first?.count], [1, 50])
  assert.equal(other.get('SELECT 1 FROM damaged_block'), undefined)
  const second = await source.nextPart('history', 1, ROOM, signal)
  assert.deepEqual([second?.to, second?.count], [3, 50])
  assert.deepEqual(other.all('SELECT block_id FROM damaged_block'), [{ blockId: 2 }])
  const [gap] = rowsOf(await source.nextPart('notes', 0, ROOM, signal))
  assert.equal(gap?.kind, 'gap')
})

test('a damaged log row is recorded as lost before a cursor passes it; earlier data is sent first', async (t) => {
  const { source, other } = await openSyncSource(t)
  registerDevice(other, 1)
  for (const fromS of [0, 10, 20]) appendToLog(other, samples(fromS, 10))
  other.run('UPDATE telemetry_log SET samples = zeroblob(length(samples)) WHERE first_seq = 11')
  const first = await source.nextPart('telemetry', 0, ROOM, signal)
  assert.deepEqual([first?.to, first?.count], [10, 10])
  const second = await source.nextPart('telemetry', 10, ROOM, signal)
  assert.deepEqual([second?.to, second?.count], [30, 10])
  const [gap] = rowsOf(await source.nextPart('notes', 0, ROOM, signal))
  assert.equal(gap?.kind, 'gap')
})

test('rows of a newer program are left in place and do not hold up the rows after them', async (t) => {
  const { source, other } = await openSyncSource(t)
  registerDevice(other, 1)
  for (const fromS of [0, 10, 20]) appendToLog(other, samples(fromS, 10))
  other.run('UPDATE telemetry_log SET samples = ? WHERE first_seq = 11', newerRow(samples(10, 10)))
  const parts = await drain(source, 'telemetry', { bytes: 262_144, rows: 10 })
  assert.deepEqual(parts.flatMap(recordsOf).length, 20)
  assert.equal(other.all('SELECT first_seq FROM telemetry_log').length, 3)
})

test('the backlog is the data after the cursors', async (t) => {
  const { source, other, seal, acknowledge, clock } = await openSyncSource(t)
  for (const deviceId of [1, 2]) registerDevice(other, deviceId)
  appendToLog(other, samples(0, 3000, 2, 'both'))
  seal()
  appendToLog(other, samples(3000, 10, 2, 'both'))
  for (let i = 1; i <= 5; i++) addLockEvent(other, `lck-${i}`)
  const entries = other.all('SELECT seq FROM block_log').length
  const first = await asAgentKnowsIt(source).backlog(signal)
  assert.deepEqual(first.history, { rows: 12_000, oldestMs: NOON_MS })
  assert.deepEqual(first.telemetry, { rows: 40, oldestMs: NOON_MS + 3_000_000 })
  assert.deepEqual([first.lock_events.rows, first.entities.rows, first.notes], [5, 2, { rows: 0, oldestMs: null }])
  await acknowledge('lock_events', 3)
  await acknowledge('telemetry', 6005)
  await acknowledge('history', entries - 1)
  assert.deepEqual(await source.backlog(signal), first)
  clock.advance(15_000)
  const second = await source.backlog(signal)
  assert.deepEqual([second.lock_events.rows, second.telemetry.rows], [2, 30])
  assert.equal(second.history.rows, blocksIn(other).at(-1)?.count)
})

test('a database belongs to one site, and a fork resets its cursors to zero', async (t) => {
  const { source, acknowledge } = await openSyncSource(t)
  const { epoch, ...rest } = source.identity()
  assert.deepEqual(rest, { site: null, forkedFrom: null })
  await source.claim('golf-1')
  await assert.rejects(source.claim('golf-2'))
  await acknowledge('notes', 5)
  await source.adopt({ ...source.cursors(), notes: { seq: 3, hash: 'b'.repeat(64) } })
  assert.deepEqual(source.cursors().notes, { seq: 3, hash: 'b'.repeat(64) })
  const forked = await asAgentKnowsIt(source).fork('restored from a backup')
  assert.deepEqual(forked, source.identity())
  assert.deepEqual([forked.site, forked.forkedFrom], ['golf-1', { epoch, reason: 'restored from a backup' }])
  assert.notEqual(forked.epoch, epoch)
  assert.equal(source.cursors().notes.seq, 0)
})

test('an aborted request fails and leaves no work running', async (t) => {
  const { source } = await openSyncSource(t)
  const aborted = AbortSignal.abort()
  await assert.rejects(source.nextPart('telemetry', 0, ROOM, aborted), { code: 'store_unavailable' })
  await assert.rejects(source.backlog(aborted), { code: 'store_unavailable' })
})

/** Returns a complete row with version 2 in its header. */
function newerRow(of: TestSample[]): Uint8Array {
  const bytes = encodeBatch(batchOf(of))
  bytes[3] = 2
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true)
  return bytes
}
