import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { NEW_COMMAND } from '#domain/commands.ts'
import { GATEWAY } from '#domain/origin.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { DAY_MS } from '#shared/time.ts'
import type { Connection } from '#store/db/connection.ts'
import { insertAuditEntry } from '#store/tables/audit-log.ts'
import { addToCommandCount, insertCommand } from '#store/tables/commands.ts'
import { insertGeofenceEvent } from '#store/tables/geofence-events.ts'
import { openTelemetryParts } from '#testing/telemetry-parts.ts'
import { Retention } from '../telemetry/retention.ts'
import { EventDeletion } from './event-deletion.ts'

const NOW_MS = new FakeClock().nowMs()
const DAYS = 400
const CUTOFF_MS = NOW_MS - DAYS * DAY_MS

async function open(t: TestContext, prepare: (connection: Connection) => void, hasUpstream = false) {
  let deviceId = 0
  const parts = await openTelemetryParts(
    t,
    (table) => {
      deviceId = table.newDevice()
      prepare(table.connection)
    },
    { hasUpstream },
  )
  parts.note(deviceId, NOW_MS)
  const { store, clock, brake, log } = parts
  const events = new EventDeletion({ store, hasUpstream })
  let rests = 0
  const retention = new Retention({
    what: 'events',
    clock,
    brake,
    log,
    days: DAYS,
    queue: store.queue,
    deleteExpired: (cutoffMs, rest) => events.deleteExpired(cutoffMs, rest),
    sleep: async () => void rests++,
  })
  const left = (table: string) =>
    parts.table.connection.all<{ seq: number }>(`SELECT seq FROM ${table} ORDER BY seq`).map(({ seq }) => seq)
  return { ...parts, events, retention, left, rests: () => rests }
}

function addLockEvent(connection: Connection, n: number, atMs: number): void {
  connection.run(
    `INSERT INTO lock_event (event_id, hardware_id, identity, event, source, at_ms, code)
     VALUES (?, 'cart-1', ?, 'unlock', 'rfid', ?, '04A1')`,
    `l${n}`,
    `l${n}`,
    atMs,
  )
}

function addZoneEvent(connection: Connection, n: number, atMs: number): void {
  insertGeofenceEvent(connection, {
    eventId: `z${n}`,
    hardwareId: 'cart-1',
    shortId: 'x',
    event: 'enter',
    groupId: 1,
    zoneId: 'z',
    zoneName: 'Z',
    zoneType: 'parking',
    atMs,
    latE7: 1,
    longE7: 1,
  })
}

function addCommand(connection: Connection, n: number, createdAtMs: number, isOver = true): void {
  insertCommand(connection, {
    ...NEW_COMMAND,
    commandId: `c${n}`,
    hardwareId: 'cart-1',
    shortId: 'x',
    deviceType: 'teebox',
    command: 'locate',
    paramsJson: '{}',
    metadataJson: null,
    ttlS: 60,
    requestedBy: 'u',
    retryOf: null,
    createdAtMs,
    forced: null,
    status: isOver ? 'completed' : 'pending',
  })
  addToCommandCount(connection, 1)
}

test('events, finished commands and audit entries past the retention are deleted, to the millisecond', async (t) => {
  const { retention, events, left, store } = await open(t, (connection) => {
    for (const [n, atMs] of [CUTOFF_MS - 1, CUTOFF_MS, NOW_MS].entries()) {
      addLockEvent(connection, n, atMs)
      addZoneEvent(connection, n, atMs)
      addCommand(connection, n, atMs)
      const record = { action: 'user.updated' as const, target: 'u', before: null, after: null }
      insertAuditEntry(connection, { ...GATEWAY, atMs }, record)
    }
    addCommand(connection, 3, CUTOFF_MS - 1, false)
  })
  const deleted = { message: 0, lock_event: 1, geofence_event: 1, command: 1, audit_entry: 1 }
  assert.deepEqual(await retention.runOnce(), deleted)
  for (const table of ['lock_event', 'geofence_event', 'audit_entry']) assert.deepEqual(left(table), [2, 3], table)
  assert.deepEqual(left('command'), [2, 3, 4], 'one that may still move stays')
  assert.equal(store.read.commandCount(), 3)
  assert.deepEqual([...events.deleted.entries()], Object.entries(deleted))
})

test('thousands of events are deleted in small steps in any stored order, with a pause after each', async (t) => {
  const { retention, left, rests } = await open(t, (connection) => {
    for (let n = 0; n < 2_400; n++) addLockEvent(connection, n, CUTOFF_MS - 1 - ((n * 7919) % 1201) + (n % 2) * DAY_MS)
  })
  assert.deepEqual(await retention.runOnce(), {
    message: 0,
    lock_event: 1_200,
    geofence_event: 0,
    command: 0,
    audit_entry: 0,
  })
  assert.equal(left('lock_event').length, 1_200)
  assert.ok(rests() >= 3, `${rests()} rests`)
})

test('events not yet sent to a head office stay and are deleted once they have been sent', async (t) => {
  const { retention, left, store, table } = await open(
    t,
    (connection) => {
      for (let n = 1; n <= 600; n++) addLockEvent(connection, n, CUTOFF_MS - n)
      for (let n = 1; n <= 2; n++) addZoneEvent(connection, n, CUTOFF_MS - n)
      for (let n = 1; n <= 2; n++) addCommand(connection, n, CUTOFF_MS - n)
      const record = { action: 'user.updated' as const, target: 'u', before: null, after: null }
      for (let n = 1; n <= 2; n++) insertAuditEntry(connection, { ...GATEWAY, atMs: CUTOFF_MS - n }, record)
    },
    true,
  )
  const acknowledge = (stream: string, seq: number) =>
    store.write('acknowledge', { cursors: { [stream]: { seq, hash: '' } } })
  assert.deepEqual(await retention.runOnce(), {
    message: 0,
    lock_event: 0,
    geofence_event: 0,
    command: 0,
    audit_entry: 0,
  })
  await acknowledge('lock_events', 599)
  await acknowledge('geofence_events', 1)
  const { seq } = table.connection.get<{ seq: number }>("SELECT seq FROM change_log WHERE key = 'c1'") ?? { seq: 0 }
  await acknowledge('entities', seq)
  assert.deepEqual(await retention.runOnce(), {
    message: 0,
    lock_event: 599,
    geofence_event: 1,
    command: 1,
    audit_entry: 0,
  })
  assert.deepEqual([left('lock_event'), left('geofence_event'), left('command')], [[600], [2], [2]])
  const sql = "SELECT min(seq) AS seq FROM change_log WHERE entity = 'audit_entry'"
  const firstEntry = table.connection.get<{ seq: number }>(sql)
  await acknowledge('entities', firstEntry?.seq ?? 0)
  assert.equal((await retention.runOnce())?.audit_entry, 1)
  assert.deepEqual(left('audit_entry'), [2])
})

test('a clock that is set years ahead, or that is not set, deletes nothing', async (t) => {
  const { retention, system, left } = await open(t, (connection) => addLockEvent(connection, 1, CUTOFF_MS))
  system.set(NOW_MS + 3 * 365 * DAY_MS)
  assert.equal(await retention.runOnce(), null)
  system.set(0)
  assert.equal(await retention.runOnce(), null)
  assert.deepEqual(left('lock_event'), [1])
})
