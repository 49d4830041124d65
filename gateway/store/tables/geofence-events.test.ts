import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyState } from '#domain/latest-state.ts'
import { NO_ZONE_STATE } from '#shared/zones/watch.ts'
import { migrate } from '../migrate.ts'
import type { DeviceState } from '../telemetry/device-state.ts'
import { encodeStateChanges } from '../telemetry/state-changes.ts'
import type { AppendBatch } from '../writer/append.ts'
import { append } from '../writer/append.ts'
import { openForSetup } from '../writer/open.ts'
import { createDevice, listDevices } from './devices.ts'
import { type GeofenceEventRow, listGeofenceEvents } from './geofence-events.ts'

const ENTER: GeofenceEventRow = {
  eventId: 'e1',
  hardwareId: 'cart',
  shortId: 'aaaaaaaa',
  event: 'enter',
  groupId: 1,
  zoneId: 'green',
  zoneName: 'Green 7',
  zoneType: 'stop',
  atMs: 1000,
  latE7: -515000000,
  longE7: 1799999999,
}

test('a batch that is written twice leaves what it leaves when it is written once', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'cartbarn-events-'))
  const connection = openForSetup(join(dir, 'cartbarn.db'))
  t.after(() => {
    connection.close()
    rmSync(dir, { recursive: true })
  })
  migrate(connection)
  const publication = { version: null, sessionChanges: [] }
  const named = { hardwareId: 'cart', deviceType: 'teebox', name: null, groupId: null }
  const newDevice = { ...named, mqttPasswordHash: '', nowMs: 0, publication }
  const { deviceId } = createDevice(connection, newDevice)
  const before = { state: emptyState(), updatedAtMs: 0, lastRespondedAtMs: null, watch: NO_ZONE_STATE }
  const watch = { ...NO_ZONE_STATE, zones: [{ id: 'green', isInside: true }] }
  const changes = (after: Partial<DeviceState>) =>
    encodeStateChanges([{ deviceId, before, after: { ...before, updatedAtMs: 1, ...after } }])
  const nothing = { lockEvents: [], quarantined: [], commandAcks: [], sessionChanges: [] }
  const empty = { samples: new Float64Array(0), ...nothing }
  const exit: GeofenceEventRow = { ...ENTER, eventId: 'e2', event: 'exit', atMs: 2000 }
  const batch: AppendBatch = {
    ...empty,
    stateChanges: changes({ watch }),
    geofenceEvents: [ENTER, exit],
  }
  for (let i = 0; i < 2; i++) {
    append(connection, batch)
    assert.deepEqual(listGeofenceEvents({ connection }, { order: 'desc', limit: 10, offset: 0 }), [exit, ENTER])
  }
  // a batch without zones leaves their known state unchanged
  append(connection, { ...empty, stateChanges: changes({}) })
  assert.deepEqual(
    listDevices(connection).map(({ known }) => known.watch),
    [watch],
  )
})
