import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeLink } from '#scripts/testing/fake-link.ts'
import { toE7 } from '#shared/geo.ts'
import { isInRing, packRing } from '#shared/zones/geometry.ts'
import { bayOf } from './course/course.ts'
import { MID_MORNING_S } from './course/itinerary.ts'
import { toLatLong } from './course/plane.ts'
import { boundaryOf } from './course/zones.ts'
import { createCart, planFleet } from './fleet-plan.ts'
import { LiveFleet } from './live-fleet.ts'

const START_MS = Date.UTC(2026, 4, 7, 2)
const MINUTES = 60

interface Reading {
  ts?: number
  up?: number
  lat?: number
  long?: number
  battery_voltage?: number
  lock_status?: number | boolean
  s?: Reading[]
}

async function drive(minutes: number, carts = 10, hasIncidents = true) {
  const plan = planFleet({ seed: 1, carts, center: { lat: 28.41, long: -81.58 }, prefix: 't', hasIncidents })
  const clock = { atMs: START_MS, nowMs: () => clock.atMs }
  const links = new Map<string, FakeLink>()
  const fleet = new LiveFleet({
    plan: { ...plan, shadows: [] },
    gatewayUrl: 'http://127.0.0.1:1',
    speedUp: 1,
    days: 1,
    clock,
    createLink(live) {
      const link = new FakeLink()
      links.set(live.device.hardwareId, link)
      return link
    },
  })
  await fleet.prepare()
  for (let second = 0; second < minutes * MINUTES; second++) {
    clock.atMs += 1000
    fleet.runOnce()
  }
  const readings = (hardwareId: string) =>
    (links.get(hardwareId)?.of('tlm') ?? []).flatMap((payload): Reading[] => {
      const reading: Reading | Reading[] = JSON.parse(payload)
      return Array.isArray(reading) ? reading : (reading.s ?? [reading])
    })
  return { plan, links, readings }
}

const toPlace = ({ lat = 0, long = 0 }: { lat?: number; long?: number }) => ({
  latE7: toE7(lat),
  longE7: toE7(long),
})

test('a fleet of ten has a cart with a low battery, which stops and reports it', async () => {
  const { readings } = await drive(10)
  const voltages = readings('t-cc-003').flatMap(({ battery_voltage: voltageV }) => voltageV ?? [])
  assert.ok((voltages.at(-1) ?? 0) > 46 && (voltages.at(-1) ?? 0) < 47.7, String(voltages.at(-1)))
  const places = readings('t-cc-003')
    .slice(-60)
    .flatMap(({ lat }) => lat ?? [])
  assert.ok(Math.max(...places) - Math.min(...places) < 0.0002)
})

test('one cart drives over the boundary, far enough to be seen there, and comes back', async () => {
  const { plan, readings } = await drive(25)
  const boundary = boundaryOf(plan.course, 10).map((point) => toPlace(toLatLong(plan.center, point)))
  const inside = readings('t-tb-004').map((reading) => isInRing(packRing(boundary), toPlace(reading)))
  assert.ok(inside.filter((isInside) => !isInside).length >= 4)
  assert.deepEqual([inside[0], inside.at(-1)], [true, true])
})

test('one cart falls asleep in its bay, with a clean disconnect', async () => {
  const { links, readings, plan } = await drive(6)
  const link = links.get('t-cc-006')
  assert.deepEqual([link?.isConnected, link?.sleeps], [false, 1])
  const last = readings('t-cc-006').at(-1)
  const bay = toLatLong(plan.center, bayOf(plan.course, 5))
  assert.ok(Math.abs((last?.lat ?? 0) - bay.lat) < 1e-4 && Math.abs((last?.long ?? 0) - bay.long) < 1e-4)
})

test('one cart loses its signal on the course, without a clean disconnect', async () => {
  const { links } = await drive(6)
  const link = links.get('t-tb-008')
  assert.deepEqual([link?.isConnected, link?.signalLosses, link?.sleeps], [false, 1, 0])
})

test('one cart is left unlocked in its bay', async () => {
  const { readings, links } = await drive(50)
  const lock = readings('t-tb-010').flatMap(({ lock_status: status }) => status ?? [])
  assert.deepEqual([lock[0], lock.at(-1)], [0, 1])
  assert.match(links.get('t-tb-010')?.of('evt').at(-1) ?? '', /"event":"lock","source":"key"/)
})

test('the two carts of one group play slowly and fall holes behind', async () => {
  const { plan } = await drive(1, 20)
  const holeAt = (index: number, hasIncidents: boolean) => {
    const cart = createCart({ ...plan, hasIncidents }, index)
    cart.startDay(1)
    for (let second = 0; second < MID_MORNING_S; second++) cart.step()
    return cart.hole ?? 0
  }
  for (const index of [10, 11]) {
    const [slow, usual] = [holeAt(index, true), holeAt(index, false)]
    assert.ok(slow > 0 && slow <= usual - 2, `${slow} of ${usual}`)
  }
})

test('a smaller fleet, or one with incidents disabled, drives undisturbed', async () => {
  const [few, more, without] = [await drive(3, 9), await drive(3, 10, false), await drive(3, 9, false)]
  assert.deepEqual(
    [...few.links].map(([id, link]) => [id, link.published]),
    [...without.links].map(([id, link]) => [id, link.published]),
  )
  assert.ok([...more.links.values()].every(({ sleeps }) => sleeps === 0))
})
