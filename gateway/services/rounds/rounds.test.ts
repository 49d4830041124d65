import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { FakeClock } from '#shared/testing/clocks.ts'
import { eventually } from '#shared/testing/eventually.ts'
import { HOUR_MS, MINUTE_MS, toIso } from '#shared/time.ts'
import type { RoundJson } from '#shared/wire/rounds.ts'
import { type SentFix, sendTrack } from '#testing/course/sent-track.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

const clock = new FakeClock()
let g: TestGateway
let count = 0

before(async () => {
  g = await startGateway({}, { clock, tickMs: 10 })
  await drawZones([BARN, ...HOLES])
})
after(() => g.stop())

const BARN = circle('barn', 0.1, { type: 'parking' })
const HOLES = [1, 2, 3, 4].map((hole) => circle(`h${hole}`, 0.1 + hole / 1000, { type: 'hole', hole }))

function circle(id: string, lat: number, properties: object) {
  return {
    type: 'Feature',
    id,
    properties: { name: id, radius_m: 60, ...properties },
    geometry: { type: 'Point', coordinates: [0.1, lat] },
  }
}

async function drawZones(features: object[]): Promise<void> {
  const body = { type: 'FeatureCollection', features }
  assert.equal((await g.request('PUT', '/zones', { body, headers: { 'if-match': '*' } })).status, 200)
}

/**
 * Keeps one of the cart's two devices at a position for a while; its samples then may come late, or after a restart.
 */
const legs = fc.array(
  fc.record({
    place: fc.constantFrom(0, 0.0005, 1, 1.5, 2, 3, 3.5, 4),
    minutes: fc.integer({ min: 1, max: 30 }),
    isScreen: fc.boolean(),
    isLate: fc.boolean(),
    restarts: fc.constantFrom(true, false, false, false),
  }),
  { minLength: 4, maxLength: 12 },
)

async function register(hardwareId: string, deviceType: string, cart: string): Promise<string> {
  const body = { hardware_id: hardwareId, device_type: deviceType, cart }
  return (await g.request('POST', '/devices', { body })).body.mqtt.password
}

test('stored rounds match the history, despite late data and any number of restarts', async () => {
  await fc.assert(
    fc.asyncProperty(legs, async (made) => {
      clock.advance(HOUR_MS)
      const cart = `C${++count}`
      const lock = { id: `lock-${count}`, password: await register(`lock-${count}`, 'teebox', cart) }
      const screen = { id: `screen-${count}`, password: await register(`screen-${count}`, 'cartcaddie', cart) }
      const send = async ({ id, password }: typeof lock, fixes: readonly SentFix[]) => {
        const client = await g.connect(id, password)
        await sendTrack(client, id, fixes)
        await client.endAsync()
      }
      const late: [typeof lock, SentFix[]][] = []
      let atMs = clock.nowMs() - made.reduce((sum, { minutes }) => sum + minutes, 0) * MINUTE_MS
      for (const { place, minutes, isScreen, isLate, restarts } of made) {
        const fixes = Array.from({ length: minutes * 3 }, (_, i) => ({
          atMs: atMs + i * 20_000,
          lat: 0.1 + place / 1000,
          long: 0.1,
          speed: 0,
        }))
        atMs += minutes * MINUTE_MS
        const device = isScreen ? screen : lock
        if (isLate) late.push([device, fixes])
        else await send(device, fixes)
        if (restarts) await g.restart()
      }
      for (const [device, fixes] of late.reverse()) await send(device, fixes)
      const range = `from=${toIso(clock.nowMs() - 24 * HOUR_MS)}&to=${toIso(clock.nowMs())}`
      const { body } = await g.request('GET', `/rounds?${range}&cart=${cart}`)
      const asStored = (body.rounds as RoundJson[]).filter(({ ended_at }) => ended_at === null)
      let kept: RoundJson[] = []
      const isEqual = async () => {
        // a cart whose rounds must be found again waits for the next read
        clock.advance(6000)
        kept = (await g.request('GET', '/rounds/active')).body.rounds.filter((one: RoundJson) => one.cart === cart)
        return JSON.stringify(kept.map(lasting)) === JSON.stringify(asStored.map(lasting))
      }
      await eventually(isEqual, 'both are the same').catch(() =>
        assert.deepEqual(kept.map(lasting), asStored.map(lasting)),
      )
    }),
    { numRuns: process.env.CARTBARN_TEST_LONG === undefined ? 4 : 40, endOnFailure: true },
  )
})

test('once the barn is drawn, the active round is known with all that came before', async () => {
  await drawZones(HOLES)
  const password = await register('early', 'teebox', 'Early')
  const client = await g.connect('early', password)
  const startedMs = clock.nowMs() - 20 * MINUTE_MS
  const fixes = [0, 0, 0, 1, 1, 1, 2, 2, 2].map((place, i) => ({
    atMs: startedMs + i * 2 * MINUTE_MS,
    lat: 0.1 + place / 1000,
    long: 0.1,
    speed: 0,
  }))
  await sendTrack(client, 'early', fixes)
  await client.endAsync()
  const running = async (path: string): Promise<RoundJson[]> => {
    const rounds: RoundJson[] = (await g.request('GET', path)).body.rounds
    return rounds.filter(({ cart }) => cart === 'Early')
  }
  const range = `from=${toIso(clock.nowMs() - HOUR_MS)}&to=${toIso(clock.nowMs())}`
  assert.deepEqual(await running('/rounds/active'), [])
  assert.deepEqual(await running(`/rounds?${range}`), [])
  await drawZones([BARN, ...HOLES])
  await eventually(async () => {
    clock.advance(1000)
    return (await running('/rounds/active'))[0]?.holes.length === 2
  }, 'its two holes are reported')
})

/** Fields of a round that do not depend on the time of the request. */
function lasting({ minutes_behind: _behind, duration: _duration, ...others }: RoundJson) {
  return others
}
