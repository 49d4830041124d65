import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toE7 } from '#shared/geo.ts'
import { RoundFinder } from '#shared/rounds/finder.ts'
import { minutesBehind } from '#shared/rounds/pace.ts'
import type { Round } from '#shared/rounds/round.ts'
import { roundZonesOf } from '#shared/rounds/round-zones.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { newGeofencesSchema } from '#shared/wire/geofences.ts'
import type { Zone } from '#shared/zones/zone.ts'
import { MID_MORNING_S } from './course/itinerary.ts'
import { distanceM, type Point } from './course/plane.ts'
import { zonesOf } from './course/zones.ts'
import { createCart, createDeviceModel, type FleetPlan, planFleet } from './fleet-plan.ts'

const center = { lat: 28.41, long: -81.58 }
const DAY = 20_000
const DAY_S = 86_400
const MINUTES_PER_HOLE = 15
/** A delay too small to send a ranger. */
const LITTLE_MIN = 9

/** True drive of a cart from its bay and back, with the holes in order. */
interface Outing {
  startedMs: number
  endedMs: number
  distanceM: number
  holes: number[]
}

/** Returns a day of a cart: its true drives, and the rounds found from the reports of its lock. */
function liveDay(plan: FleetPlan, index: number): { outings: Outing[]; rounds: Round[] } {
  const cart = createCart(plan, index)
  const [device] = plan.fleet[index]?.devices ?? []
  assert.ok(device !== undefined)
  const model = createDeviceModel(plan, device, DAY)
  const finder = new RoundFinder(roundZonesFor(plan))
  const lock = { hardwareId: device.hardwareId, isLock: true }
  const outings: Outing[] = []
  cart.startDay(DAY)
  const bay = cart.position
  let at: Point = bay
  let outing: Outing | undefined
  for (let second = 1; second <= DAY_S; second++) {
    const atMs = second * 1000
    cart.step()
    const stepM = distanceM(at, cart.position)
    at = cart.position
    if (outing === undefined && stepM > 0) outing = { startedMs: atMs, endedMs: atMs, distanceM: 0, holes: [] }
    if (outing !== undefined) {
      outing.distanceM += stepM
      if (cart.hole !== undefined && cart.hole !== outing.holes.at(-1)) outing.holes.push(cart.hole)
      if (distanceM(at, bay) < 0.1 && outing.distanceM > 100) {
        outings.push({ ...outing, endedMs: atMs })
        outing = undefined
      }
    }
    const sample = model.observe(atMs, cart)
    const { lat, long } = sample?.fields ?? {}
    if (typeof lat !== 'number' || typeof long !== 'number') continue
    finder.take(lock, { atMs, latE7: toE7(lat), longE7: toE7(long) })
  }
  return { outings, rounds: finder.takeEnded() }
}

function roundZonesFor(plan: FleetPlan) {
  const { features } = newGeofencesSchema.parse(zonesOf(plan.course, plan.carts))
  const zones = features.flatMap(({ id, geometry, properties }): Zone[] => {
    if (geometry.type !== 'Polygon') return []
    const ring = (geometry.coordinates[0] ?? []).map(([long, lat]) => ({
      latE7: toE7(lat),
      longE7: toE7(long),
    }))
    const { name, type, hole = null } = properties
    return [
      {
        id: String(id),
        name,
        type,
        hole: hole ?? null,
        isEnabled: true,
        isVisible: true,
        message: null,
        maxSpeedKmh: null,
        shape: { kind: 'polygon', ring },
      },
    ]
  })
  return roundZonesOf(zones)
}

test('rounds are those that were driven: within 3 % of the way and 2 minutes of the time, hole by hole', () => {
  let count = 0
  for (const seed of [1, 2]) {
    const plan = planFleet({ seed, carts: 20, center, prefix: 't' })
    for (const index of [0, 1, 2, 6, 9, 14]) {
      const { outings, rounds } = liveDay(plan, index)
      const name = `seed ${seed}, cart ${index}`
      assert.equal(rounds.length, outings.length, name)
      for (const [i, outing] of outings.entries()) {
        const round = rounds[i]
        assert.ok(round !== undefined)
        count++
        const details = `${name}: ${JSON.stringify([outing, round])}`
        assert.ok(Math.abs(round.distanceM / outing.distanceM - 1) < 0.03, details)
        assert.ok(Math.abs(round.startedMs - outing.startedMs) < 2 * MINUTE_MS, details)
        assert.ok(Math.abs((round.endedMs ?? 0) - outing.endedMs) < 2 * MINUTE_MS, details)
        assert.deepEqual(
          round.holes.map(({ hole }) => hole),
          outing.holes,
          details,
        )
      }
    }
  }
  assert.ok(count > 12)
})

test('in the middle of the morning one group is holes behind, and no other by more than some minutes', () => {
  const plan = planFleet({ seed: 1, carts: 20, center, prefix: 't', hasIncidents: true })
  const roundZones = roundZonesFor(plan)
  const behind = plan.fleet.map(({ index, devices: [device] }) => {
    assert.ok(device !== undefined)
    const cart = createCart(plan, index)
    const model = createDeviceModel(plan, device, DAY)
    const finder = new RoundFinder(roundZones)
    const lock = { hardwareId: device.hardwareId, isLock: true }
    cart.startDay(DAY)
    for (let second = 1; second <= MID_MORNING_S; second++) {
      cart.step()
      const { lat, long } = model.observe(second * 1000, cart)?.fields ?? {}
      if (typeof lat !== 'number' || typeof long !== 'number') continue
      finder.take(lock, { atMs: second * 1000, latE7: toE7(lat), longE7: toE7(long) })
    }
    const nowMs = MID_MORNING_S * 1000
    const round = finder.roundAt(nowMs)
    return round === null ? null : minutesBehind(round, MINUTES_PER_HOLE, nowMs)
  })
  const slow = [10, 11]
  for (const index of slow) assert.ok((behind[index] ?? 0) > MINUTES_PER_HOLE, `${index}: ${behind[index]}`)
  const others = behind.filter((_, index) => !slow.includes(index))
  assert.ok(others.filter((minutes) => minutes !== null).length >= 12)
  for (const minutes of others) assert.ok((minutes ?? 0) < LITTLE_MIN, JSON.stringify(behind))
})
