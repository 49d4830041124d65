import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeLink } from '#scripts/testing/fake-link.ts'
import { isLineShown } from './fleet.ts'
import { planFleet } from './fleet-plan.ts'
import { LiveFleet } from './live-fleet.ts'

const START_MS = Date.UTC(2026, 4, 7, 2)
const plan = planFleet({ seed: 1, carts: 6, center: { lat: 28.41, long: -81.58 }, prefix: 't' })

async function prepare(speedUp: number) {
  const clock = { atMs: START_MS, nowMs: () => clock.atMs }
  const links = new Map<string, FakeLink>()
  const fleet = new LiveFleet({
    plan,
    gatewayUrl: 'http://127.0.0.1:1',
    speedUp,
    days: 1,
    clock,
    createLink(live) {
      const link = new FakeLink()
      links.set(live.device.hardwareId, link)
      return link
    },
  })
  await fleet.prepare()
  const run = (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      clock.atMs += 1000
      fleet.runOnce()
    }
  }
  return { fleet, links, run, clock }
}

function published(links: Map<string, FakeLink>) {
  return [...links].map(([hardwareId, link]) => ({ hardwareId, messages: link.published }))
}

test('every device that is awake has reported within the first second', async () => {
  const { fleet, links, run } = await prepare(1)
  run(1)
  const awake = fleet.devices.filter((live) => live.isAwake)
  assert.ok(awake.length >= fleet.devices.length / 2)
  for (const { device } of awake) {
    assert.ok((links.get(device.hardwareId)?.of('tlm').length ?? 0) > 0, device.hardwareId)
  }
})

test('the same seed at the same time sends the same messages', async () => {
  const [first, second] = [await prepare(1), await prepare(1)]
  first.run(120)
  second.run(120)
  assert.deepEqual(published(first.links), published(second.links))
})

test('speeding up moves the carts faster and leaves the times real', async () => {
  const { links, run, clock } = await prepare(60)
  run(300)
  for (const link of links.values()) {
    for (const payload of [...link.of('tlm'), ...link.of('evt')]) {
      const { ts } = JSON.parse(payload)
      if (ts !== undefined) assert.ok(ts <= clock.atMs)
    }
  }
  const speeds = [...links.values()].flatMap((link) => link.of('tlm')).map((payload) => JSON.parse(payload).speed)
  assert.ok(speeds.some((speed) => speed > 10))
})

test('the fleet plays on after its last day', async () => {
  const { links, run } = await prepare(3600)
  run(40)
  const unlocks = [...links.values()].flatMap((link) => link.of('evt')).filter((text) => text.includes('"unlock"'))
  assert.ok(unlocks.length >= 12, `${unlocks.length}`)
})

test('after a suspended laptop wakes, the fleet continues from now instead of catching up', async () => {
  const { links, run, clock } = await prepare(1)
  run(5)
  const before = [...links.values()].reduce((sum, link) => sum + link.published.length, 0)
  clock.atMs += 8 * 3_600_000
  run(1)
  const after = [...links.values()].reduce((sum, link) => sum + link.published.length, 0)
  assert.ok(after - before < 50, `${after - before}`)
})

test('the status is printed each 5 s for ten minutes, then once a minute', () => {
  const linesIn = (seconds: number) =>
    Array.from({ length: seconds / 5 }, (_, i) => isLineShown(i)).filter(Boolean).length
  assert.equal(linesIn(60), 12)
  assert.equal(linesIn(600), 120)
  assert.equal(linesIn(86_400), 120 + 1_430)
  assert.equal(linesIn(365 * 86_400), 120 + 525_590)
})
