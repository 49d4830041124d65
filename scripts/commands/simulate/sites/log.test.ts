import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeRuns } from '#shared/telemetry/runs.ts'
import { NO_CURSOR } from '#shared/wire/replication/replicated.ts'
import { SharedCarts, SiteDevices } from './carts.ts'
import { SitesFigures } from './figures.ts'
import { SiteLog } from './log.ts'

const START_MS = 1_777_636_800_000
const MOST = { rows: 20_000, bytes: 1_000_000 }

function siteOf(carts: number) {
  const shared = new SharedCarts(carts, 1)
  const devices = new SiteDevices(shared, 1, 0, START_MS)
  const figures = new SitesFigures()
  const log = new SiteLog(devices.hardwareIds(), figures)
  const drive = (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      shared.step()
      log.add(devices.measure(START_MS + i * 1000))
    }
  }
  return { devices, figures, log, drive }
}

const at = (seq: number) => ({ seq, hash: 'a'.repeat(64) })
const oldestMs = async (log: SiteLog) => (await log.backlog()).telemetry.oldestMs

test('a batch has whole seconds of all devices, after the cursor of the hub', async () => {
  const { log, figures, drive } = siteOf(3)
  drive(10)
  assert.equal(log.ends().telemetry, 30)
  assert.equal(log.rows, 60)
  const part = await log.nextPart('telemetry', 0, { ...MOST, rows: 25 })
  assert.ok(part !== null)
  assert.deepEqual([part.to, part.count, part.oldestMs], [12, 24, START_MS])
  const runs = decodeRuns(part.data)
  assert.deepEqual(
    runs.map(({ hardwareId, stream }) => `${hardwareId} ${stream}`),
    ['cart-001', 'cart-002', 'cart-003'].flatMap((id) => [`${id} gps`, `${id} battery`]),
  )
  const times = [0, 1, 2, 3].map((i) => START_MS + i * 1000)
  for (const { records } of runs) assert.deepEqual([...records.atMs], times)
  await log.acknowledge({ telemetry: at(part.to) })
  assert.deepEqual(log.cursors().telemetry, at(12))
  assert.deepEqual([figures.rows, figures.pushes, figures.lag.count], [24, 1, 4])
  assert.equal(await oldestMs(log), START_MS + 4000)
  assert.equal((await log.nextPart('telemetry', 12, { ...MOST, rows: 1 }))?.to, 15)
  await log.acknowledge({ telemetry: at(30) })
  assert.equal(await log.nextPart('telemetry', 30, MOST), null)
  assert.deepEqual([log.rows, await oldestMs(log)], [0, null])
})

test('a batch stays within its byte limit, and has at least one second', async () => {
  const { log, drive } = siteOf(3)
  drive(64)
  const bytes = 500
  const part = await log.nextPart('telemetry', 0, { ...MOST, bytes })
  assert.ok(part !== null && part.data.length <= bytes && part.to < 64 * 3, `${part?.data.length} bytes`)
  assert.equal((await log.nextPart('telemetry', 0, { ...MOST, bytes: 1 }))?.to, 3)
})

test('a hub whose cursor went back gets the remaining rows, and a new epoch starts with them', async () => {
  const { log, figures, drive } = siteOf(1)
  drive(10)
  await log.acknowledge({ telemetry: at(4) })
  await log.adopt({ ...log.cursors(), telemetry: NO_CURSOR })
  assert.equal((await log.nextPart('telemetry', 0, MOST))?.count, 12)
  await log.claim('north')
  const { epoch } = log.identity()
  await log.fork('for the test')
  const { epoch: next, ...others } = log.identity()
  assert.notEqual(next, epoch)
  assert.deepEqual(others, { site: 'north', forkedFrom: { epoch, reason: 'for the test' } })
  assert.equal((await log.nextPart('telemetry', log.cursors().telemetry.seq, MOST))?.to, 10)
  assert.equal(figures.forks, 1)
})

test('rows that wait for too long are dropped and counted', async () => {
  const { log, figures, drive } = siteOf(1)
  drive(1000)
  assert.equal(log.rows, 1800)
  assert.equal(figures.forgottenRows, 200)
  assert.equal(await oldestMs(log), START_MS + 100_000)
  assert.equal(log.ends().telemetry, 1000)
})

test('sites have the same carts in other places, with other errors', () => {
  const shared = new SharedCarts(5, 1)
  const measurements = [0, 1, 27].map((site) => new SiteDevices(shared, 1, site, START_MS).measure(START_MS))
  const [first, ...others] = measurements.map(({ measured }) => measured)
  assert.ok(first !== undefined)
  for (const measured of others) {
    assert.ok(Math.abs((measured[0]?.latE7 ?? 0) - (first[0]?.latE7 ?? 0)) > 4_000_000)
    assert.notDeepEqual(
      measured.map(({ voltageMv }) => voltageMv),
      first.map(({ voltageMv }) => voltageMv),
    )
  }
  const again = new SiteDevices(shared, 1, 1, START_MS).measure(START_MS)
  assert.deepEqual(again, measurements[1])
})

test('states have the last measured values', () => {
  const { devices } = siteOf(2)
  const { measured } = devices.measure(START_MS)
  assert.deepEqual([...devices.takeChanged()], ['cart-001', 'cart-002'])
  const state = devices.deviceJson('cart-002')
  assert.equal(state?.hardware_id, 'cart-002')
  assert.deepEqual(state.attributes, {
    lat: (measured[1]?.latE7 ?? 0) / 1e7,
    long: (measured[1]?.longE7 ?? 0) / 1e7,
    speed: (measured[1]?.speedMilliKmh ?? 0) / 1000,
    battery_voltage: (measured[1]?.voltageMv ?? 0) / 1000,
  })
  assert.equal(state.updated_at, '2026-05-01T12:00:00.000Z')
  assert.equal(devices.deviceJson('cart-003'), undefined)
})
