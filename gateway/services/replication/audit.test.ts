import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowHashSum } from '#shared/sync-hash.ts'
import type { StreamPart } from '#shared/sync-source.ts'
import { decodeBlock } from '#shared/telemetry/block.ts'
import { decodeBlocks } from '#shared/telemetry/blocks.ts'
import { addRecords } from '#shared/telemetry/record-sum.ts'
import { BATTERY, GPS } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import type { AuditGroup, AuditKind } from '#shared/wire/replication/sync.ts'
import type { Connection } from '#store/db/connection.ts'
import { openSyncSource } from '#testing/open-sync-source.ts'
import { appendToLog, registerDevice, type TestSample } from '#testing/telemetry-tables.ts'
import type { SyncSource } from './source.ts'

const DAY = Date.UTC(2026, 4, 1)
const ROOM = { bytes: 262_144, rows: 2000 }
const { signal } = new AbortController()

/** Samples of each device, one every `stepS` seconds from 20 minutes before midnight. */
function aroundMidnight(count: number, stepS: number, devices = 1): TestSample[] {
  return Array.from({ length: count * devices }, (_, i) => ({
    deviceId: 1 + (i % devices),
    atMs: DAY + DAY_MS - 1_200_000 + Math.floor(i / devices) * stepS * 1000,
    streams: 'both',
    value: 1 + (i % 60_000),
  }))
}

function addLockEvents(connection: Connection, hardwareId: string, fromMs: number, count: number): void {
  for (let i = 0; i < count; i++) {
    const id = `${hardwareId}-${fromMs}-${i}`
    connection.run(
      `INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, metadata)
       VALUES (?, ?, ?, 'unlock', 'keypad', ?, '{"n":1}')`,
      id,
      hardwareId,
      id,
      fromMs + Math.floor(i / 2),
    )
  }
}

async function allDays(source: SyncSource, kind: AuditKind): Promise<[day: number | null, AuditGroup[]][]> {
  const found: [number | null, AuditGroup[]][] = []
  for (const day of await source.auditDays(kind, signal)) {
    const groups = await source.auditGroups(kind, day, signal)
    if (groups.length > 0) found.push([day, groups.toSorted((a, b) => (a.group < b.group ? -1 : 1))])
  }
  return found
}

/** Returns `day group count` of each group, the day in days after DAY. */
function countsOf(days: Awaited<ReturnType<typeof allDays>>): string[] {
  return days.flatMap(([day, groups]) => {
    const name = day === null ? 'ever' : (day - DAY) / DAY_MS
    return groups.map(({ group, count }) => `${name} ${group} ${count}`)
  })
}

async function resent(
  source: SyncSource,
  kind: AuditKind,
  day: number | null,
  group: string,
  limits = ROOM,
): Promise<StreamPart[]> {
  const parts: StreamPart[] = []
  for await (const part of source.resendParts(kind, day, group, limits, signal)) {
    assert.equal(part.to, 0)
    parts.push(part)
  }
  return parts
}

/** Sum as the hub computes it from the rows it receives. */
function sumOfBlocks(kind: 'gps' | 'battery', parts: readonly StreamPart[]): RowHashSum {
  const sum = new RowHashSum()
  for (const { data, count } of parts) {
    let records = 0
    for (const { block, header } of decodeBlocks(data)) {
      assert.equal(header.kind, kind)
      const [gps, battery] = [GPS.allocate(header.count), BATTERY.allocate(header.count)]
      if (kind === 'gps') addRecords(sum, GPS, gps, 0, decodeBlock(GPS, block, gps))
      else addRecords(sum, BATTERY, battery, 0, decodeBlock(BATTERY, block, battery))
      records += header.count
    }
    assert.equal(records, count)
  }
  return sum
}

function rowsOf(parts: readonly StreamPart[]): Record<string, unknown>[] {
  return parts.flatMap(({ data, count }) => {
    const rows: Record<string, unknown>[] = JSON.parse(Buffer.from(data).toString())
    assert.equal(rows.length, count)
    return rows
  })
}

test('the sum of each day of telemetry is the same before, during and after sealing', async (t) => {
  const { source, other, seal } = await openSyncSource(t)
  for (const deviceId of [1, 2, 3]) registerDevice(other, deviceId)
  appendToLog(other, aroundMidnight(3000, 1, 2))
  const inLog = { gps: await allDays(source, 'gps'), battery: await allDays(source, 'battery') }
  assert.deepEqual(countsOf(inLog.gps), ['0 cart-1 1200', '0 cart-2 1200', '1 cart-1 1800', '1 cart-2 1800'])
  const sql = 'SELECT first_seq AS firstSeq, samples FROM telemetry_log'
  const rows = other.all<{ firstSeq: number; samples: Uint8Array }>(sql)
  seal()
  assert.deepEqual({ gps: await allDays(source, 'gps'), battery: await allDays(source, 'battery') }, inLog)
  // as after a power cut between adding the blocks and dropping the rows
  for (const { firstSeq, samples } of rows)
    other.run('INSERT INTO telemetry_log (first_seq, samples) VALUES (?, ?)', firstSeq, samples)
  assert.deepEqual({ gps: await allDays(source, 'gps'), battery: await allDays(source, 'battery') }, inLog)
})

test('the resent samples of a day have its sum, in the log and in blocks', async (t) => {
  const { source, other, seal } = await openSyncSource(t)
  registerDevice(other, 1)
  appendToLog(other, aroundMidnight(5000, 1))
  seal()
  appendToLog(
    other,
    aroundMidnight(3000, 1).map((sample) => ({ ...sample, atMs: sample.atMs + 5_000_500 })),
  )
  for (const kind of ['gps', 'battery'] as const) {
    for (const [day, groups] of await allDays(source, kind)) {
      for (const limits of [ROOM, { bytes: 1024, rows: 5000 }, { bytes: 262_144, rows: 700 }]) {
        const parts = await resent(source, kind, day, 'cart-1', limits)
        const sum = sumOfBlocks(kind, parts)
        const blocks = parts.flatMap(({ data }) => [...decodeBlocks(data)])
        const through_ms = Math.max(...blocks.map(({ header }) => header.lastMs))
        assert.deepEqual([{ group: 'cart-1', count: sum.count, sum: sum.toString(), through_ms }], groups)
        assert.ok(parts.every(({ count }) => count <= Math.max(limits.rows, 1)))
      }
    }
  }
  assert.deepEqual(await resent(source, 'gps', DAY, 'nobody'), [])
  assert.deepEqual(await resent(source, 'gps', DAY + 50 * DAY_MS, 'cart-1'), [])
})

test('samples that are being erased are not sent again', async (t) => {
  const { source, other, seal, maintenance } = await openSyncSource(t)
  registerDevice(other, 1)
  appendToLog(other, aroundMidnight(10, 1))
  seal()
  const erasing = Promise.withResolvers<void>()
  void maintenance.take(() => erasing.promise)
  const parts = resent(source, 'gps', DAY, 'cart-1')
  // other jobs run meanwhile
  assert.equal((await source.auditGroups('gps', DAY, signal)).length, 1)
  other.run('DELETE FROM telemetry_block')
  erasing.resolve()
  assert.deepEqual(await parts, [])
})

test('days without records are left out, however far apart the records of a block are', async (t) => {
  const { source, other, seal } = await openSyncSource(t)
  registerDevice(other, 1)
  const sample = (atMs: number): TestSample => ({ deviceId: 1, atMs, streams: 'gps', value: 5 })
  appendToLog(other, [sample(1000), sample(DAY), sample(DAY + 40 * DAY_MS), sample(DAY + 41 * DAY_MS)])
  seal()
  appendToLog(other, [sample(DAY + 90 * DAY_MS)])
  const days = [0, DAY, DAY + 40 * DAY_MS, DAY + 41 * DAY_MS, DAY + 90 * DAY_MS]
  assert.deepEqual(await source.auditDays('gps', signal), days)
  assert.deepEqual(await source.auditDays('battery', signal), [])
})

test('events are summed by device and day as they are sent, and all of them are sent again', async (t) => {
  const { source, other } = await openSyncSource(t)
  other.db.transaction(() => {
    addLockEvents(other, 'cart-1', DAY + DAY_MS - 100, 5000)
    addLockEvents(other, 'cart-2', DAY + DAY_MS, 300)
    // before 1970: from a clock that was never set
    addLockEvents(other, 'cart-2', -5000, 1)
  })()
  const days = await allDays(source, 'lock_events')
  const ofBefore1970 = `${-1 - DAY / DAY_MS} cart-2 1`
  assert.deepEqual(countsOf(days), [ofBefore1970, '0 cart-1 200', '1 cart-1 4800', '1 cart-2 300'])
  for (const [day, groups] of days) {
    for (const { group, ...expected } of groups) {
      const rows = rowsOf(await resent(source, 'lock_events', day, group, { bytes: 262_144, rows: 999 }))
      const sum = new RowHashSum()
      for (const { seq, ...row } of rows) {
        assert.equal(typeof seq, 'number')
        sum.addText(JSON.stringify(row))
      }
      const throughMs = Math.max(...rows.map(({ at_ms }) => Number(at_ms)))
      assert.deepEqual({ count: sum.count, sum: sum.toString(), through_ms: throughMs }, expected)
      assert.equal(new Set(rows.map(({ event_id }) => event_id)).size, rows.length)
    }
  }
})

test('notes form one group, entities one per table, and deleted entities are sent again too', async (t) => {
  const { source, other, store } = await openSyncSource(t)
  for (let i = 1; i <= 3; i++)
    other.run(`INSERT INTO note (note_id, kind, at_ms, body) VALUES (?, 'gap', ?, '{}')`, `n${i}`, DAY + i)
  assert.deepEqual(countsOf(await allDays(source, 'notes')), ['0  3'])
  assert.equal(rowsOf(await resent(source, 'notes', DAY, '')).length, 3)
  for (let deviceId = 1; deviceId <= 600; deviceId++) registerDevice(other, deviceId)
  other.run('DELETE FROM device WHERE device_id > 590')
  await store.write('createUser', {
    userId: 'usr_1',
    name: 'Ann',
    email: null,
    role: 'user',
    keyHash: 'x',
    nowMs: 9,
    allowedHardwareIds: null,
  })
  const days = await allDays(source, 'entities')
  assert.deepEqual(countsOf(days), ['ever audit_entry 1', 'ever device 590', 'ever user 1'])
  const rows = rowsOf(await resent(source, 'entities', null, 'device', { bytes: 262_144, rows: 100 }))
  const sum = new RowHashSum()
  for (const { table, key, body } of rows) if (body !== null) sum.addText(JSON.stringify([table, key, body]))
  assert.deepEqual({ group: 'device', count: sum.count, sum: sum.toString() }, days[0]?.[1][1])
  assert.equal(rows.length, 600)
  const entries = rowsOf(await resent(source, 'entities', null, 'audit_entry'))
  const sumOfEntries = new RowHashSum()
  for (const { table, key, body } of entries) sumOfEntries.addText(JSON.stringify([table, key, body]))
  assert.deepEqual({ group: 'audit_entry', count: 1, sum: sumOfEntries.toString() }, days[0]?.[1][0])
})
