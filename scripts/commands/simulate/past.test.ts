import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DAY_MS, toIso } from '#shared/time.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { MID_MORNING_S } from './course/itinerary.ts'
import { planFleet } from './fleet-plan.ts'
import { importPast } from './past.ts'
import { registerDevices } from './register.ts'

const DAYS = 1
const plan = planFleet({ seed: 1, carts: 2, center: { lat: 28.41, long: -81.58 }, prefix: 't' })
const ids = plan.fleet.flatMap(({ devices }) => devices.map(({ hardwareId }) => hardwareId))
let g: TestGateway

before(async () => {
  g = await startGateway()
})
after(() => g.stop())

/** Registers the fleet again; returns the time of its registration. */
async function register(): Promise<number> {
  for (const id of ids) await g.request('DELETE', `/devices/${id}`)
  const { signal } = new AbortController()
  const devices = plan.fleet.flatMap((cart) => cart.devices)
  await registerDevices(devices, { gatewayUrl: g.http, adminKey: ADMIN_KEY, prefix: 't', signal })
  const { body } = await g.request('GET', '/devices')
  return Math.min(...body.devices.map(({ created_at }: { created_at: string }) => Date.parse(created_at)))
}

async function fill(signal = new AbortController().signal) {
  const progress = { samples: 0, rows: 0, bytes: 0, cartDays: 0, cartDaysTotal: 0 }
  await importPast({ plan, days: DAYS, gatewayUrl: g.http, adminKey: ADMIN_KEY, signal, progress })
  return progress
}

async function timesOf(id: string, stream = 'gps'): Promise<number[]> {
  const query = `from=2020-01-01&to=${toIso(Date.now())}&order=asc`
  const { body } = await g.request('GET', `/devices/${id}/${stream}?${query}`)
  return body.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp))
}

async function countOf(id: string): Promise<number> {
  return (await g.request('GET', `/devices/${id}/telemetry/stats`)).body.gps
}

test('the days before the registration of the fleet are filled once', async () => {
  const beganMs = await register()
  const { samples, cartDays, cartDaysTotal } = await fill()
  const counts = await Promise.all(ids.map(countOf))
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    samples,
  )
  assert.ok(cartDays > 0 && cartDays <= cartDaysTotal)
  for (const id of ids) {
    const [gps, battery] = [await timesOf(id), await timesOf(id, 'battery')]
    assert.equal(gps.at(-1), beganMs)
    assert.ok((gps[0] ?? 0) >= beganMs - MID_MORNING_S * 1000 - DAYS * DAY_MS)
    assert.ok(gps.length > 300 && battery.length > 50, `${id} has ${gps.length} and ${battery.length}`)
  }
  assert.equal((await fill()).samples, 0, 'a second start fills nothing')
  assert.deepEqual(await Promise.all(ids.map(countOf)), counts)
})

test('an interrupted fill continues, with the same result', async () => {
  await register()
  const stopping = new AbortController()
  const progress = {
    samples: 0,
    rows: 0,
    bytes: 0,
    cartDaysTotal: 0,
    set cartDays(_: number) {
      // in the middle of the first cart
      if (progress.samples > 3_000) stopping.abort()
    },
    get cartDays() {
      return 0
    },
  }
  const { signal } = stopping
  const interrupted = importPast({
    plan,
    days: DAYS,
    gatewayUrl: g.http,
    adminKey: ADMIN_KEY,
    signal,
    progress,
  })
  await assert.rejects(interrupted, { name: 'AbortError' })
  const before = await Promise.all(ids.map(countOf))
  assert.ok(before.some((count) => count > 0) && before.some((count) => count === 0), String(before))
  const { samples } = await fill()
  const counts = await Promise.all(ids.map(countOf))
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    samples,
  )
})

test('a fleet that is not registered gets no history', async () => {
  for (const id of ids) await g.request('DELETE', `/devices/${id}`)
  assert.equal((await fill()).samples, 0)
})
