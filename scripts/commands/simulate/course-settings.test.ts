import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEFAULT_TRIP_CONFIG } from '#shared/trips/config.ts'
import { detectTrips } from '#shared/trips/detect.ts'
import { type GpsRecord, loadTrack } from '#shared/trips/track.ts'
import { siteSettingsPatchSchema } from '#shared/wire/site.ts'
import { distanceM } from './course/plane.ts'
import { COURSE_TRIPS, courseSettings, zoneOfMidMorning } from './course-settings.ts'
import { createCart, createDeviceModel, planFleet } from './fleet-plan.ts'

const DAY_S = 86_400
const PAUSE_S = COURSE_TRIPS.minimalParkingDuration
const center = { lat: 28.41, long: -81.58 }

/** Runs one day of a cart; returns the distance of each of its rounds, and the reports of one of its devices. */
function liveOneDay(seed: number, index: number, deviceIndex: number) {
  const plan = planFleet({ seed, carts: 20, center, prefix: 't' })
  const cart = createCart(plan, index)
  const device = plan.fleet[index]?.devices[deviceIndex]
  assert.ok(device !== undefined)
  const model = createDeviceModel(plan, device, 20_000)
  cart.startDay(20_000)
  const records: GpsRecord[] = []
  const rounds: { distanceM: number; fromS: number; toS: number }[] = []
  for (let second = 1; second <= DAY_S; second++) {
    const before = cart.position
    cart.step()
    const movedM = distanceM(before, cart.position)
    if (movedM > 0) {
      const round = rounds.at(-1)
      if (round === undefined || second - round.toS > PAUSE_S)
        rounds.push({ distanceM: movedM, fromS: second, toS: second })
      else Object.assign(round, { distanceM: round.distanceM + movedM, toS: second })
    }
    const reading = model.observe(second * 1000, cart)?.fields
    if (typeof reading?.lat !== 'number' || typeof reading.long !== 'number') continue
    const speedKmh = typeof reading.speed === 'number' ? reading.speed : null
    records.push({ atMs: second * 1000, lat: reading.lat, long: reading.long, speedKmh })
  }
  return { rounds, records }
}

test('every round is one trip with the settings of the course, of its distance and its time', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(19), fc.nat(1), (seed, index, which) => {
      const { rounds, records } = liveOneDay(seed, index, index % 3 === 0 ? which : 0)
      const { trips } = detectTrips(loadTrack(records), { ...DEFAULT_TRIP_CONFIG, ...COURSE_TRIPS })
      assert.equal(trips.length, rounds.length)
      for (const [i, trip] of trips.entries()) {
        const round = rounds[i]
        assert.ok(round !== undefined && round.toS - round.fromS > 3 * 3600)
        assert.ok(Math.abs(trip.distanceM / round.distanceM - 1) < 0.05)
        assert.ok(Math.abs(trip.durationS - (round.toS - round.fromS)) < 120)
      }
    }),
    { numRuns: 6 },
  )
})

test('in the time zone of the course it is mid-morning, whenever it is set up', () => {
  for (let hour = 0; hour < 24; hour += 0.25) {
    const atMs = Date.UTC(2026, 4, 7) + hour * 3_600_000
    const options = { timeZone: zoneOfMidMorning(atMs), hour: '2-digit', hourCycle: 'h23' } as const
    const local = Number(new Intl.DateTimeFormat('en', options).format(atMs))
    assert.ok(local === 10 || local === 11, `${hour}: ${local}`)
  }
})

test('the settings are ones a gateway takes', () => {
  assert.ok(siteSettingsPatchSchema.safeParse(courseSettings(Date.UTC(2026, 4, 7))).success)
})
