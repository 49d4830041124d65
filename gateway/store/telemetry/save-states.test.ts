import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { copyState, emptyState, mergeValues } from '#domain/latest-state.ts'
import { toE7 } from '#shared/geo.ts'
import { NO_ZONE_STATE } from '#shared/zones/watch.ts'
import { type Connection, openReader } from '../db/connection.ts'
import { migrate } from '../migrate.ts'
import { createDevice, type DeviceCounts, deviceCounts, fleetCounts, listDevices } from '../tables/devices.ts'
import { openForSetup } from '../writer/open.ts'
import { dropLog } from './blocks.ts'
import type { DeviceState } from './device-state.ts'
import type { WriterTables } from './log-tail.ts'
import { saveStates } from './save-states.ts'
import { encodeStateChanges } from './state-changes.ts'
import { storeSamples } from './store-samples.ts'
import { UnsavedRecords } from './unsaved-states.ts'

const root = mkdtempSync(join(tmpdir(), 'cartbarn-states-'))
const path = join(root, 'cartbarn.db')
let connection: WriterTables
/** Reads alongside the writer, as the threads of a gateway do, across all tests. */
let reader: Connection
let unsaved: UnsavedRecords
let carts = 0

before(() => {
  connection = openForSetup(path)
  migrate(connection)
  connection.db.pragma('synchronous = OFF')
  reader = openReader(path)
  unsaved = new UnsavedRecords(reader)
})
after(() => {
  reader.close()
  connection.close()
  rmSync(root, { recursive: true })
})

interface Cart {
  deviceId: number
  known: DeviceState
  counts: DeviceCounts
}

function newCart(): Cart {
  const named = { hardwareId: `cart-${++carts}`, deviceType: 'teebox', name: null, groupId: null }
  const publication = { version: null, sessionChanges: [] }
  const { deviceId } = createDevice(connection, { ...named, mqttPasswordHash: 'x', nowMs: 0, publication })
  const nothing = { count: 0, firstMs: null, lastMs: null }
  const known = { state: emptyState(), updatedAtMs: 0, lastRespondedAtMs: null, watch: NO_ZONE_STATE }
  return { deviceId, known, counts: { gps: nothing, battery: nothing } }
}

/** One transaction with a position each, at these times of the carts; earlier positions are repeats and not new. */
function append(messages: readonly { cart: Cart; atMs: number }[], receivedAtMs: number): void {
  const changes = new Map<Cart, DeviceState>()
  const samples: number[] = []
  for (const { cart, atMs } of messages) {
    const [lat, long] = [10 + atMs / 1e7, -20 - atMs / 1e7]
    samples.push(cart.deviceId, atMs, toE7(lat), toE7(long), Number.NaN, Number.NaN)
    const draft = changes.get(cart) ?? { ...cart.known, state: copyState(cart.known.state) }
    mergeValues(draft.state, atMs, { lat, long })
    draft.updatedAtMs = receivedAtMs
    draft.lastRespondedAtMs = receivedAtMs
    changes.set(cart, draft)
  }
  const all = [...changes].map(([{ deviceId, known }, after]) => ({ deviceId, before: known, after }))
  const flags = connection.db.transaction(() =>
    storeSamples(connection, Float64Array.from(samples), encodeStateChanges(all)),
  )()
  for (const [cart, known] of changes) cart.known = known
  for (const [i, { cart, atMs }] of messages.entries()) {
    if (flags[i] === 0) continue
    const { count, firstMs, lastMs } = cart.counts.gps
    const gps = {
      count: count + 1,
      firstMs: Math.min(firstMs ?? atMs, atMs),
      lastMs: Math.max(lastMs ?? atMs, atMs),
    }
    cart.counts = { ...cart.counts, gps }
  }
}

function assertAnswers(carts: readonly Cart[], from = reader, records = unsaved): void {
  const devices = new Map(listDevices(from).map(({ row, known }) => [row.deviceId, known]))
  for (const { deviceId, known, counts } of carts) {
    assert.deepEqual(devices.get(deviceId), known)
    assert.deepEqual(deviceCounts(from, deviceId, records), counts)
  }
}

const save = () => connection.db.transaction(() => saveStates(connection))()
const drop = () =>
  connection.db.transaction(() => {
    const last = connection.get<{ seq: number | null }>('SELECT max(first_seq) AS seq FROM telemetry_log')
    dropLog(connection, { fromSeq: 0, throughSeq: (last?.seq ?? 0) + 10, limit: 1000 })
  })()

test('reads return states and counts of the last commit, whenever states are saved or logs truncated', () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.array(fc.record({ cart: fc.nat(2), atMs: fc.nat(20) }), { minLength: 1, maxLength: 4 }),
    },
    fc.constantFrom('save' as const, 'drop' as const),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const fleet = [newCart(), newCart(), newCart()]
      const others = fleetCounts(reader, unsaved).gps
      for (const [i, one] of steps.entries()) {
        if (one === 'save') save()
        // its samples would be stored again, because this test has no blocks
        else if (one === 'drop') {
          drop()
          connection.tail.forget()
          assertAnswers(fleet)
          for (const cart of fleet) Object.assign(cart, newCart())
        } else
          append(
            one.flatMap(({ cart, atMs }) => ({ cart: fleet[cart] ?? newCart(), atMs: atMs + 1 })),
            100 + i,
          )
        assertAnswers(fleet)
        assertAnswers(fleet, reader, new UnsavedRecords(reader))
      }
      assert.ok(fleetCounts(reader, unsaved).gps >= others)
      assert.deepEqual(fleetCounts(reader, unsaved), fleetCounts(reader))
    }),
    { numRuns: 60 },
  )
})

test('a copy of the database between two saves has the same states, also after saving them', () => {
  const fleet = [newCart(), newCart()]
  const [first, second] = fleet
  assert.ok(first && second)
  append([{ cart: first, atMs: 1 }], 100)
  save()
  append(
    [
      { cart: first, atMs: 2 },
      { cart: second, atMs: 3 },
    ],
    200,
  )
  // the log has these samples already
  append([{ cart: second, atMs: 3 }], 300)
  const copy = join(root, 'copy.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
  append([{ cart: first, atMs: 9 }], 400)
  const opened = openForSetup(copy)
  const expected = [{ ...first, known: { ...first.known, updatedAtMs: 200, lastRespondedAtMs: 200 } }, second]
  assert.equal(listDevices(opened).find(({ row }) => row.deviceId === first.deviceId)?.known.updatedAtMs, 200)
  assert.equal(deviceCounts(opened, first.deviceId).gps.count, 2)
  for (let times = 0; times < 2; times++) {
    assertAnswers(expected.slice(1), opened, new UnsavedRecords(opened))
    opened.db.transaction(() => saveStates(opened))()
  }
  assert.deepEqual(opened.all('SELECT * FROM state_change'), [])
  opened.close()
})

test('log records of a deleted device are ignored', () => {
  save()
  const cart = newCart()
  const counted = fleetCounts(reader, unsaved).gps
  append([{ cart, atMs: 1 }], 100)
  assert.equal(fleetCounts(reader, unsaved).gps, counted + 1)
  connection.run('DELETE FROM device WHERE device_id = ?', cart.deviceId)
  assert.equal(fleetCounts(reader, unsaved).gps, counted)
  save()
  assert.equal(fleetCounts(reader, unsaved).gps, counted)
})

test('a damaged log row loses its own samples and changes, not those before and after it', () => {
  save()
  const fleet = [newCart(), newCart()]
  const [first, second] = fleet
  assert.ok(first && second)
  append([{ cart: first, atMs: 1 }], 100)
  const before = first.known
  append([{ cart: first, atMs: 2 }], 200)
  connection.run(`UPDATE telemetry_log SET samples = zeroblob(length(samples)), state_changes = zeroblob(9)
    WHERE first_seq = (SELECT max(first_seq) FROM telemetry_log)`)
  append([{ cart: second, atMs: 3 }], 300)
  const answers = () => {
    const known = listDevices(reader).find(({ row }) => row.deviceId === first.deviceId)?.known
    return [known, deviceCounts(reader, first.deviceId).gps.count]
  }
  assert.deepEqual(answers(), [before, 1])
  assertAnswers([second])
  save()
  assert.deepEqual(answers(), [before, 1])
})

test('an earlier database has its states in the rows, including those in its log', () => {
  const old = openForSetup(join(root, 'old.db'))
  migrate(old, 14)
  old.db.exec(`INSERT INTO device (device_id, hardware_id, short_id, device_type, mqtt_password_hash, created_at_ms,
    updated_at_ms)
      VALUES (1, 'a', 's1', 'teebox', 'x', 1, 1);
    INSERT INTO device_state (device_id, latest, updated_at_ms, gps_count, gps_first_ms, gps_last_ms)
      VALUES (1, '{"values":{"lat":1},"atMs":{"lat":5}}', 7, 2, 4, 5);
    INSERT INTO telemetry_log (first_seq, samples) SELECT 1, zeroblob(0);`)
  const samples = connection.get<{ samples: Uint8Array }>('SELECT samples FROM telemetry_log LIMIT 1')?.samples
  assert.ok(samples)
  old.run('UPDATE telemetry_log SET samples = ?', samples)
  migrate(old)
  assert.deepEqual(deviceCounts(old, 1).gps, { count: 2, firstMs: 4, lastMs: 5 })
  assert.deepEqual(listDevices(old)[0]?.known.state.values, { lat: 1 })
  old.close()
})
