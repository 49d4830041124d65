import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { STALE_LOCK_MS } from '#shared/carts/cart-state.ts'
import { advanceMotion, type CartMotion, NO_MOTION } from '#shared/carts/motion.ts'
import { type BatteryRecords, GPS, type GpsRecords, NO_SPEED } from '#shared/telemetry/records.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import { NO_ZONE_STATE, watch } from '#shared/zones/watch.ts'
import { watchedZones } from '#shared/zones/watched-zones.ts'
import type { Zone } from '#shared/zones/zone.ts'
import { PackDays } from './battery-days.ts'
import { CartFixes } from './cart-fixes.ts'
import { DaySums, type ReportDay } from './day-sums.ts'
import { TimeOut } from './time-out.ts'
import { type TrafficCells, TrafficGrid } from './traffic-grid.ts'

const START_MS = Date.UTC(2026, 4, 1)
/** Two barns that overlap, 50 m around, 60 m apart. */
const BARNS: Zone[] = [0, 5400].map((east, i) => ({
  id: `barn-${i}`,
  name: 'Barn',
  type: 'parking',
  isEnabled: true,
  isVisible: true,
  message: null,
  maxSpeedKmh: null,
  hole: null,
  shape: { kind: 'circle', center: { latE7: 365_680_000, longE7: 100_000_000 + east }, radiusM: 50 },
}))
const PARKING = watchedZones(BARNS)

interface Fix {
  atMs: number
  latE7: number
  longE7: number
  speedMilliKmh: number
}

/** Ways through the barns, along their edges and far from them; times ascend. */
const ways: fc.Arbitrary<Fix[]> = fc
  .array(
    fc.record({
      stepMs: fc.oneof(
        fc.integer({ min: 1, max: 30_000 }),
        fc.integer({ min: 1, max: 3 * HOUR_MS }),
        fc.constantFrom(STALE_LOCK_MS, STALE_LOCK_MS + 1, 900_000, 900_001, DAY_MS),
      ),
      east: fc.oneof(fc.integer({ min: -9000, max: 15_000 }), fc.integer({ min: -400_000, max: 400_000 })),
      north: fc.oneof(fc.constant(0), fc.integer({ min: -6000, max: 6000 })),
      speedMilliKmh: fc.constantFrom(NO_SPEED, 0, 2999, 3000, 12_000),
      isLost: fc.integer({ min: 0, max: 30 }).map((n) => n === 0),
    }),
    { maxLength: 60 },
  )
  .map((steps) => {
    let atMs = START_MS
    return steps.map(({ stepMs, east, north, speedMilliKmh, isLost }) => {
      atMs += stepMs
      const place = { latE7: 365_680_000 + north, longE7: 100_000_000 + east }
      return { atMs, ...(isLost ? { latE7: 0, longE7: 0 } : place), speedMilliKmh }
    })
  })

function columns(fixes: readonly Fix[]): GpsRecords {
  return {
    atMs: Float64Array.from(fixes, ({ atMs }) => atMs),
    latE7: Int32Array.from(fixes, ({ latE7 }) => latE7),
    longE7: Int32Array.from(fixes, ({ longE7 }) => longE7),
    speedMilliKmh: Int32Array.from(fixes, ({ speedMilliKmh }) => speedMilliKmh),
  }
}

function rows({ atMs, latE7, longE7, speedMilliKmh }: GpsRecords): Fix[] {
  return Array.from(atMs, (at, i) => ({
    atMs: at,
    latE7: latE7[i] ?? 0,
    longE7: longE7[i] ?? 0,
    speedMilliKmh: speedMilliKmh[i] ?? 0,
  }))
}

const daysFrom = (days: number): ReportDay[] =>
  Array.from({ length: days }, (_, i) => ({
    date: `${i}`,
    fromMs: START_MS + i * DAY_MS,
    untilMs: START_MS + (i + 1) * DAY_MS,
  }))

/** The records of each day. */
function byDay(fixes: readonly Fix[], days: readonly ReportDay[]): GpsRecords[] {
  return days.map(({ fromMs, untilMs }) => columns(fixes.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs)))
}

/** Fixes of a device around a midnight, by 20 seconds. */
const aroundMidnight = fc
  .uniqueArray(fc.integer({ min: 4300, max: 4345 }), { maxLength: 20 })
  .chain((steps) =>
    fc.tuple(
      fc.constant(steps.sort((a, b) => a - b)),
      fc.array(fc.constantFrom(0, 1, 2), { minLength: steps.length, maxLength: steps.length }),
    ),
  )
  .map(([steps, places]) =>
    steps.map((step, i): Fix => {
      const place = places[i] ?? 0
      return { atMs: START_MS + step * 20_000, latE7: place, longE7: place * 2, speedMilliKmh: NO_SPEED }
    }),
  )
const some = fc.array(aroundMidnight, { maxLength: 2 })

test('a cart is where its lock reports, or where a device with data a minute newer reports', () => {
  fc.assert(
    fc.property(some, some, (locks, others) => {
      const days = daysFrom(2)
      const cart = new CartFixes()
      const split = (devices: Fix[][]) => devices.map((fixes) => byDay(fixes, days))
      const [ofLocks, ofOthers] = [split(locks), split(others)]
      const on = (devices: GpsRecords[][], day: number) => devices.map((device) => device[day] ?? GPS.allocate(0))
      const found = days.flatMap((_, i) => rows(cart.merge(on(ofLocks, i), on(ofOthers, i))))
      assert.deepEqual(found, naiveFixes(locks.flat(), others.flat()))
    }),
    { numRuns: 1000 },
  )
})

/** Fixes of the lock, and others behind whose back it has been quiet; of equal times the first. */
function naiveFixes(locks: readonly Fix[], others: readonly Fix[]): Fix[] {
  const isPlaced = ({ latE7, longE7 }: Fix) => latE7 !== 0 || longE7 !== 0
  // for equal times the first device counts, even if it had no position
  const first = (fixes: readonly Fix[]) => {
    const seen = new Set<number>()
    const inOrder = fixes.toSorted((a, b) => a.atMs - b.atMs)
    return inOrder.filter(({ atMs }) => !seen.has(atMs) && seen.add(atMs)).filter(isPlaced)
  }
  const ofLocks = first(locks)
  const isQuiet = (fix: Fix) => !ofLocks.some(({ atMs }) => atMs <= fix.atMs && fix.atMs - atMs <= STALE_LOCK_MS)
  return [...ofLocks, ...first(others).filter(isQuiet)].sort((a, b) => a.atMs - b.atMs)
}

test('a cart is out according to its zone events at each fix', () => {
  fc.assert(
    fc.property(ways, fc.integer({ min: 1, max: 20 }), (fixes, stretches) => {
      const found: number[][] = []
      const outings = new TimeOut(PARKING, (...step) => found.push(step))
      const size = Math.max(1, Math.ceil(fixes.length / stretches))
      for (let at = 0; at < fixes.length; at += size) outings.take(columns(fixes.slice(at, at + size)))
      outings.end(START_MS + 100 * DAY_MS)
      assert.deepEqual(found, naiveSteps(fixes))
    }),
    { numRuns: 1000 },
  )
})

/** Each fix is watched, and each step that ends outside is out. */
function naiveSteps(fixes: readonly Fix[]): number[][] {
  let state = NO_ZONE_STATE
  const steps: number[][] = []
  for (const [i, fix] of fixes.entries()) {
    state = watch(state, PARKING, fix).state
    const before = fixes[i - 1]
    const isOut = !state.zones.some(({ isInside }) => isInside)
    if (before !== undefined && isOut) steps.push([before.atMs, fix.atMs, before.latE7, before.longE7])
    const isLast = i === fixes.length - 1
    if (isLast && isOut) steps.push([fix.atMs, START_MS + 100 * DAY_MS, fix.latE7, fix.longE7])
  }
  return steps
}

test('time is summed by day, however the range is cut', () => {
  const bounds = fc.array(fc.integer({ min: 0, max: 5 * DAY_MS }), { maxLength: 40 })
  fc.assert(
    fc.property(bounds, (cuts) => {
      // days of 23, 24 and 25 hours
      const hours = [24, 23, 24, 25, 24]
      let fromMs = START_MS
      const days = hours.map((length, i) => {
        const day = { date: `${i}`, fromMs, untilMs: fromMs + length * HOUR_MS }
        fromMs = day.untilMs
        return day
      })
      const times = cuts.map((ms) => START_MS + ms).sort((a, b) => a - b)
      const sums = new DaySums(days)
      const naive = days.map(() => 0)
      for (let i = 0; i + 1 < times.length; i += 2) {
        const [from = 0, until = 0] = times.slice(i)
        sums.add(from, until)
        for (const [at, day] of days.entries())
          naive[at] = (naive[at] ?? 0) + Math.max(0, Math.min(until, day.untilMs) - Math.max(from, day.fromMs))
      }
      assert.deepEqual([...sums.ms], naive)
    }),
  )
})

test('batteries rest and drive by the same rules as carts', () => {
  const voltages = fc.array(
    fc.record({
      agoMs: fc.oneof(fc.integer({ min: 0, max: 2 * HOUR_MS }), fc.constantFrom(0, 59_999, 60_000, 300_000)),
      mv: fc.integer({ min: 40_000, max: 52_000 }),
    }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(ways, voltages, (all, reported) => {
      const fixes = all.filter(
        ({ latE7, longE7, atMs }) => (latE7 !== 0 || longE7 !== 0) && atMs < START_MS + DAY_MS * 3,
      )
      const times = new Map(
        reported.map(({ agoMs, mv }, i) => [(fixes[i % Math.max(1, fixes.length)]?.atMs ?? START_MS) + agoMs, mv]),
      )
      const volts = [...times].sort(([a], [b]) => a - b)
      const days = daysFrom(3)
      const pack = new PackDays({ restAfterS: 300, movingKmh: 3 })
      const fixesOf = byDay(fixes, days)
      const found = days.map((day, i) =>
        pack.take(fixesOf[i] ?? GPS.allocate(0), voltsOf(volts, day), day.fromMs + 12 * HOUR_MS),
      )
      assert.deepEqual(found, naivePacks(fixes, volts, days))
    }),
    { numRuns: 500 },
  )
})

function voltsOf(volts: readonly (readonly [number, number])[], { fromMs, untilMs }: ReportDay): BatteryRecords {
  const ofDay = volts.filter(([atMs]) => atMs >= fromMs && atMs < untilMs)
  return {
    atMs: Float64Array.from(ofDay, ([atMs]) => atMs),
    voltageMv: Int32Array.from(ofDay, ([, mv]) => mv),
  }
}

/** Advances one cart by each sample, and reads the resulting state. */
function naivePacks(fixes: readonly Fix[], volts: readonly (readonly [number, number])[], days: readonly ReportDay[]) {
  const rules = { restAfterS: 300, movingKmh: 3, pack: { emptyV: null, lowV: null, fullV: null } }
  const samples = [
    ...fixes.map((fix) => ({ atMs: fix.atMs, fix, mv: null })),
    ...volts.map(([atMs, mv]) => ({ atMs, fix: null, mv })),
  ].sort((a, b) => a.atMs - b.atMs)
  let motion: CartMotion = NO_MOTION
  return days.map(({ fromMs, untilMs }) => {
    let [restMorningMv, lowestMv]: (number | null)[] = [null, null]
    let hasDriven = false
    for (const { atMs, fix, mv } of samples.filter((one) => one.atMs >= fromMs && one.atMs < untilMs)) {
      const position = fix && {
        latE7: fix.latE7,
        longE7: fix.longE7,
        speedKmh: fix.speedMilliKmh === NO_SPEED ? null : fix.speedMilliKmh / 1000,
      }
      const before = motion.rest
      motion = advanceMotion(motion, { atMs, position, voltageV: mv === null ? null : mv / 1000 }, rules)
      const drives = (motion.fix?.speedKmh ?? 0) >= 3
      if (fix !== null && drives) hasDriven = true
      if (mv === null) continue
      if (drives && atMs - (motion.fix?.atMs ?? 0) < MINUTE_MS) lowestMv = Math.min(lowestMv ?? mv, mv)
      const isMorning = restMorningMv === null || atMs < fromMs + 12 * HOUR_MS
      if (motion.rest !== before && !hasDriven && isMorning) restMorningMv = mv
    }
    return { restMorningMv, lowestMv }
  })
}

const placed = fc.record({
  latE7: fc.oneof(
    fc.integer({ min: 365_680_000, max: 365_780_000 }),
    fc.integer({ min: -900_000_000, max: 900_000_000 }),
  ),
  longE7: fc.oneof(
    fc.integer({ min: 100_000_000, max: 100_100_000 }),
    fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }),
  ),
  seconds: fc.integer({ min: 1, max: 900 }),
})

test('traffic is the same in whatever order and chunks it is summed', () => {
  fc.assert(
    fc.property(fc.array(placed, { maxLength: 60 }), fc.integer({ min: 1, max: 30 }), (steps, cellsMax) => {
      const gridOf = (some: typeof steps) => {
        const grid = new TrafficGrid(cellsMax)
        for (const { latE7, longE7, seconds } of some) grid.add(latE7, longE7, seconds)
        return grid
      }
      const whole = gridOf(steps).cells()
      const half = Math.floor(steps.length / 2)
      const parts = new TrafficGrid(cellsMax)
      parts.addAll(gridOf(steps.slice(half).reverse()).cells())
      parts.addAll(gridOf(steps.slice(0, half)).cells())
      assert.deepEqual(listed(parts.cells()), listed(whole))
      assert.ok(whole.x.length <= cellsMax)
      assert.equal(
        whole.seconds.reduce((sum, one) => sum + one, 0),
        steps.reduce((sum, { seconds }) => sum + seconds, 0),
      )
    }),
  )
})

function listed({ zoom, x, y, seconds }: TrafficCells) {
  return { zoom, cells: Array.from(x, (column, i) => [column, y[i], seconds[i]]) }
}
