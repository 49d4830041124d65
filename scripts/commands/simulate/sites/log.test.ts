import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import { SharedCarts, SiteDevices } from './carts.ts'
import { SiteLog } from './log.ts'

const START_MS = 1_777_636_800_000

function siteOf(carts: number, site = 0): { carts: SharedCarts; devices: SiteDevices; log: SiteLog } {
  const shared = new SharedCarts(carts, 1)
  const devices = new SiteDevices(shared, 1, site, START_MS)
  return { carts: shared, devices, log: new SiteLog(devices.hardwareIds) }
}

test('a part is whole seconds of all devices, behind what the hub has', () => {
  const { carts, devices, log } = siteOf(3)
  for (let i = 0; i < 10; i++) {
    carts.step()
    log.add(devices.measure(START_MS + i * 1000))
  }
  assert.equal(log.end, 30)
  assert.equal(log.rows, 60)
  const part = log.part(25)
  assert.ok(part !== null)
  assert.deepEqual([part.to, part.rows], [12, 24])
  assert.deepEqual(
    part.atMs,
    [0, 1, 2, 3].map((i) => START_MS + i * 1000),
  )
  const runs = decodeRuns(part.data)
  assert.deepEqual(
    runs.map(({ hardwareId, stream }) => `${hardwareId} ${stream}`),
    ['cart-001', 'cart-002', 'cart-003'].flatMap((id) => [`${id} gps`, `${id} battery`]),
  )
  for (const { records } of runs) assert.deepEqual([...records.atMs], part.atMs)
  log.forget(part.to)
  assert.equal(log.oldestMs, START_MS + 4000)
  assert.deepEqual(log.part(1)?.atMs, [START_MS + 4000])
  log.forget(30)
  assert.equal(log.part(2000), null)
})

test('what waits for too long is forgotten, and counted', () => {
  const { devices, log } = siteOf(1)
  for (let i = 0; i < 1000; i++) log.add(devices.measure(START_MS + i * 1000))
  assert.equal(log.rows, 1800)
  assert.equal(log.forgottenRows, 200)
  assert.equal(log.oldestMs, START_MS + 100_000)
  assert.equal(log.end, 1000)
})

test('sites have the same carts in other places, with other errors', () => {
  const shared = new SharedCarts(5, 1)
  const looks = [0, 1, 27].map((site) => new SiteDevices(shared, 1, site, START_MS).measure(START_MS))
  const [first, ...others] = looks
  assert.ok(first !== undefined)
  for (const look of others) {
    assert.ok(Math.abs((look.latE7[0] ?? 0) - (first.latE7[0] ?? 0)) > 4_000_000)
    assert.notDeepEqual(look.voltageMv, first.voltageMv)
  }
  const again = new SiteDevices(shared, 1, 1, START_MS).measure(START_MS)
  assert.deepEqual(again, looks[1])
})

test('states say what was measured last', () => {
  const { devices } = siteOf(2)
  assert.deepEqual(devices.states(), [])
  const look = devices.measure(START_MS)
  const [state] = devices.states()
  assert.equal(state?.hardware_id, 'cart-001')
  assert.equal(state?.attributes.lat, (look.latE7[0] ?? 0) / 1e7)
  assert.equal(state?.updated_at, '2026-05-01T12:00:00.000Z')
})
