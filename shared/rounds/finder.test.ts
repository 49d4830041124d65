import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { Fix } from '#shared/zones/watch.ts'
import type { Zone, ZoneType } from '#shared/zones/zone.ts'
import { LONGEST_MS, MAX_FIX_GAP_MS, RoundFinder, type RoundState } from './finder.ts'
import { currentHole, minutesBehind } from './pace.ts'
import type { Round, RoundDevice } from './round.ts'
import { roundZonesOf } from './round-zones.ts'

const START = Date.parse('2026-05-01T08:00:00Z')
const LOCK: RoundDevice = { hardwareId: 'lock', isLock: true }
const SCREEN: RoundDevice = { hardwareId: 'screen', isLock: false }

/** A strip of land from west to east, 100 m high for each 0.001 degree. */
function strip(id: string, type: ZoneType, hole: number | null, south: number, north: number): Zone {
  const at = (lat: number, long: number) => ({ latE7: Math.round(lat * 1e7), longE7: Math.round(long * 1e7) })
  return {
    id,
    name: id,
    type,
    isEnabled: true,
    isVisible: true,
    message: null,
    maxSpeedKmh: null,
    hole,
    shape: { kind: 'polygon', ring: [at(south, 0), at(south, 0.01), at(north, 0.01), at(north, 0)] },
  }
}

/** Barn at 0, holes 1 to 4 north of it; 2 and 3 overlap by 0.001. */
const ZONES = [
  strip('barn', 'parking', null, -0.001, 0.001),
  strip('h1', 'hole', 1, 0.002, 0.004),
  strip('h2', 'hole', 2, 0.005, 0.008),
  strip('h3', 'hole', 3, 0.007, 0.01),
  strip('h4', 'hole', 4, 0.011, 0.013),
]
const BARN = 0
const PATH = 0.0045
const ON = { 1: 0.003, 2: 0.006, both: 0.0075, 3: 0.009, 4: 0.012 }

/** Fixes at these latitudes, each for so many minutes, one in 20 s. */
function track(...legs: readonly [lat: number, minutes: number][]): Fix[] {
  const fixes: Fix[] = []
  let atMs = START
  for (const [lat, minutes] of legs)
    for (const untilMs = atMs + minutes * MINUTE_MS; atMs < untilMs; atMs += 20_000)
      fixes.push({ atMs, latE7: Math.round(lat * 1e7), longE7: 50_000 })
  return fixes
}

function find(fixes: readonly Fix[], zones: readonly Zone[] = ZONES, nowMs?: number): Round[] {
  const finder = new RoundFinder(roundZonesOf(zones))
  for (const fix of fixes) finder.take(LOCK, fix)
  const open = finder.roundAt(nowMs ?? fixes.at(-1)?.atMs ?? 0)
  return [...finder.takeEnded(), ...(open === null ? [] : [open])]
}

function only(rounds: readonly Round[]): Round {
  assert.equal(rounds.length, 1)
  const [round] = rounds
  assert.ok(round !== undefined)
  return round
}

/** Holes with the minutes since the start at which they were entered and left. */
function plays({ holes }: Round): [hole: number, entered: number, left: number | null][] {
  const minute = (atMs: number) => (atMs - START) / MINUTE_MS
  return holes.map(({ hole, enteredMs, leftMs }) => [hole, minute(enteredMs), leftMs === null ? null : minute(leftMs)])
}

describe('a round', () => {
  test('begins when the cart leaves parking and ends when it is back', () => {
    const round = only(find(track([BARN, 5], [PATH, 1], [ON[1], 10], [ON[2], 10], [BARN, 5])))
    assert.equal(round.startedMs, START + 5 * MINUTE_MS)
    assert.equal(round.endedMs, START + 26 * MINUTE_MS)
    assert.deepEqual(plays(round), [
      [1, 6, 16],
      [2, 16, 26],
    ])
  })

  test('needs a hole, parking, and holes with numbers', () => {
    assert.deepEqual(find(track([BARN, 5], [PATH, 60], [BARN, 5])), [])
    const way = track([BARN, 5], [ON[1], 20], [BARN, 5])
    assert.deepEqual(find(way, []), [])
    assert.deepEqual(find(way, ZONES.slice(1)), [])
    assert.deepEqual(find(way, [ZONES[0] as Zone, strip('h1', 'hole', null, 0.002, 0.004)]), [])
    const disabled = ZONES.map((zone) => ({ ...zone, isEnabled: zone.type !== 'hole' }))
    assert.deepEqual(find(way, disabled), [])
  })

  test('stays open without an end, and has the current hole', () => {
    const round = only(find(track([BARN, 5], [ON[1], 10], [ON[2], 10])))
    assert.equal(round.endedMs, null)
    assert.equal(currentHole(round)?.hole, 2)
  })

  test('of a cart that was never seen in parking begins with its first fix', () => {
    const round = only(find(track([ON[3], 10])))
    assert.equal(round.startedMs, START)
    assert.deepEqual(plays(round), [[3, 0, null]])
  })

  test('may begin on any hole', () => {
    const round = only(find(track([BARN, 5], [ON[3], 10], [ON[4], 10], [ON[1], 10], [ON[2], 10], [BARN, 5])))
    assert.deepEqual(
      round.holes.map(({ hole }) => hole),
      [3, 4, 1, 2],
    )
  })

  test('does not end while the cart crosses parking', () => {
    const round = only(find(track([BARN, 5], [ON[1], 10], [BARN, 0.5], [ON[2], 10])))
    assert.equal(round.endedMs, null)
    assert.equal(round.startedMs, START + 5 * MINUTE_MS)
    assert.deepEqual(
      round.holes.map(({ hole }) => hole),
      [1, 2],
    )
  })

  test('ends at the last fix of a cart that is silent for hours', () => {
    const silent = track([BARN, 5], [ON[1], 10])
    const lastMs = silent.at(-1)?.atMs ?? 0
    const later = { latE7: ON[2] * 1e7, longE7: 50_000 }
    const again = [0, 60_000, 120_000].map((ms) => ({ ...later, atMs: lastMs + MAX_FIX_GAP_MS + 1000 + ms }))
    const rounds = find([...silent, ...again])
    assert.deepEqual(
      rounds.map(({ startedMs, endedMs }) => [startedMs, endedMs]),
      [
        [START + 5 * MINUTE_MS, lastMs],
        [lastMs + MAX_FIX_GAP_MS + 1000, null],
      ],
    )
    assert.equal(only(find(silent, ZONES, lastMs + MAX_FIX_GAP_MS + 1000)).endedMs, lastMs)
  })

  test('of a cart that stays out at night ends by time, and the next begins at the barn', () => {
    const night = find(track([BARN, 5], [ON[1], 20 * 60], [BARN, 5], [ON[2], 10]))
    assert.deepEqual(
      night.map(({ startedMs, endedMs }) => [startedMs - START, endedMs === null ? null : endedMs - START]),
      [
        [5 * MINUTE_MS, 5 * MINUTE_MS + LONGEST_MS],
        [5 * MINUTE_MS + 20 * HOUR_MS + 5 * MINUTE_MS, null],
      ],
    )
  })

  test('has the length of its track, ignoring jitter at rest', () => {
    // 0.001 degree of latitude is 110.57 m at the equator
    const stand = Array.from({ length: 600 }, (_, i): [number, number] => [ON[1] + (i % 2) * 3e-5, 1 / 3])
    const round = only(find(track([BARN, 5], ...stand, [ON[2], 5])))
    // counted from the first fix outside
    assert.ok(Math.abs(round.distanceM - 3 * 110.57) < 10, String(round.distanceM))
  })

  test('does not count a fix that is far away', () => {
    const way = track([BARN, 5], [ON[1], 10], [ON[2], 10])
    const wrong = way.map((fix, i) => (i === 30 ? { ...fix, latE7: 5e7 } : fix))
    assert.ok(Math.abs(only(find(wrong)).distanceM - only(find(way)).distanceM) < 1)
  })
})

describe('a hole', () => {
  test('that is crossed is not played', () => {
    const crossed: [number, number][] = [[ON[1], 1 / 3]]
    const round = only(find(track([BARN, 5], [ON[3], 10], ...crossed, [PATH, 1], [ON[4], 10])))
    assert.deepEqual(
      round.holes.map(({ hole }) => hole),
      [3, 4],
    )
  })

  test('on the way from one to the next is not played', () => {
    const way = (minutes: number) => track([BARN, 5], [ON[1], 10], [ON[4], minutes], [ON[2], 10])
    assert.deepEqual(
      [4, 6].map((minutes) => only(find(way(minutes))).holes.map(({ hole }) => hole)),
      [
        [1, 2],
        [1, 4, 2],
      ],
    )
  })

  test('that is left and entered again counts once, until others were played', () => {
    const back = only(find(track([BARN, 5], [ON[1], 10], [ON[2], 5], [ON[1], 2], [ON[2], 5], [PATH, 1])))
    assert.deepEqual(plays(back), [
      [1, 5, 22],
      [2, 15, 27],
    ])
    const laps = track([BARN, 5], ...([1, 2, 3, 4, 1, 2] as const).map((hole): [number, number] => [ON[hole], 10]))
    assert.deepEqual(
      only(find(laps)).holes.map(({ hole }) => hole),
      [1, 2, 3, 4, 1, 2],
    )
  })

  test('continues for a minute where the next hole overlaps it', () => {
    const short = only(find(track([BARN, 5], [ON[2], 10], [ON.both, 0.5], [ON[2], 5])))
    assert.deepEqual(plays(short), [[2, 5, null]])
    const there = only(find(track([BARN, 5], [ON[2], 10], [ON.both, 4])))
    const long = only(find(track([BARN, 5], [ON[2], 10], [ON.both, 4], [ON[3], 5])))
    for (const round of [there, long])
      assert.deepEqual(plays(round), [
        [2, 5, 15],
        [3, 15, null],
      ])
  })

  test('continues where a hole that is not the next overlaps it', () => {
    const zones = ZONES.map((zone) => (zone.id === 'h3' ? { ...zone, hole: 9 } : zone))
    const round = only(find(track([BARN, 5], [ON[1], 5], [ON[2], 10], [ON.both, 10]), zones))
    assert.equal(currentHole(round)?.hole, 2)
  })

  test('within another is played in the order of numbers', () => {
    const around = strip('h3', 'hole', 3, 0.0045, 0.0125)
    const zones = [...ZONES.filter(({ id }) => id !== 'h3' && id !== 'h4'), around]
    const round = only(find(track([BARN, 5], [ON[1], 5], [0.0048, 2], [ON[2], 10], [0.009, 5], [0.0135, 1]), zones))
    assert.deepEqual(plays(round), [
      [1, 5, 10],
      [2, 12, 22],
      [3, 22, 27],
    ])
  })

  test('may consist of several zones', () => {
    const zones = [...ZONES, strip('h1b', 'hole', 1, 0.0035, 0.005)]
    const round = only(find(track([BARN, 5], [ON[1], 5], [0.0048, 5]), zones))
    assert.deepEqual(plays(round), [[1, 5, null]])
  })

  test('is not entered or left by jitter at its edge', () => {
    const edge = Array.from({ length: 60 }, (_, i): [number, number] => [0.004 + (i % 2 ? 5e-5 : -5e-5), 1 / 3])
    const round = only(find(track([BARN, 5], [ON[1], 5], ...edge)))
    assert.deepEqual(plays(round), [[1, 5, null]])
  })
})

describe('pace', () => {
  test('is the time since the first hole minus the planned time of the completed holes', () => {
    const round = only(find(track([BARN, 5], [ON[1], 20], [ON[2], 10])))
    // the first hole was entered 25 minutes before, and one was left
    assert.equal(minutesBehind(round, 15, START + 30 * MINUTE_MS), 10)
    assert.equal(minutesBehind(round, 30, START + 30 * MINUTE_MS), -5)
  })

  test('is unknown off all holes', () => {
    const round = only(find(track([BARN, 5], [ON[1], 20], [PATH, 3])))
    assert.equal(minutesBehind(round, 15, START + 30 * MINUTE_MS), null)
  })
})

describe('the device that determines the position', () => {
  test('is the lock, or another one once the lock has been behind for a minute', () => {
    const finder = new RoundFinder(roundZonesOf(ZONES))
    const at = (ms: number, lat: number): Fix => ({ atMs: START + ms, latE7: lat * 1e7, longE7: 50_000 })
    assert.equal(finder.take(LOCK, at(0, BARN)), 'taken')
    assert.equal(finder.take(SCREEN, at(5000, ON[1])), 'left out')
    assert.equal(finder.take(LOCK, at(10_000, BARN)), 'taken')
    assert.equal(finder.take(SCREEN, at(9000, ON[1])), 'left out')
    assert.equal(finder.take(SCREEN, at(70_001, ON[1])), 'taken')
    assert.equal(finder.take(LOCK, at(70_500, BARN)), 'taken')
    assert.equal(finder.take(LOCK, at(70_400, BARN)), 'late')
  })
})

test('the first fix within each half second of the clock counts, wherever reading begins', () => {
  const at = (ms: number): Fix => ({ atMs: START + ms, latE7: Math.round(ON[1] * 1e7), longE7: 50_000 })
  const dense = Array.from({ length: 40 }, (_, i) => at(100 * i))
  const taken = (fixes: readonly Fix[]) => {
    const finder = new RoundFinder(roundZonesOf(ZONES))
    return fixes.filter((fix) => finder.take(LOCK, fix) === 'taken').map(({ atMs }) => atMs - START)
  }
  assert.deepEqual(taken(dense), [0, 500, 1000, 1500, 2000, 2500, 3000, 3500])
  assert.deepEqual(taken(dense.slice(13)), [1300, 1500, 2000, 2500, 3000, 3500])
})

const spots = fc.constantFrom(BARN, PATH, ON[1], ON[2], ON.both, ON[3], ON[4], 0.001, 0.004, 0.0041, 0.5)
const steps = fc.array(
  fc.tuple(
    spots,
    fc.constantFrom(200, 1000, 5000, 20_000, MINUTE_MS, HOUR_MS, MAX_FIX_GAP_MS + 1),
    fc.boolean(),
    fc.nat({ max: 8 }),
  ),
  { maxLength: 120 },
)

test('a track read in chunks, stopped after any of them, yields the same rounds as in one pass', () => {
  fc.assert(
    fc.property(steps, fc.func(fc.boolean()), (made, isStopped) => {
      const roundZones = roundZonesOf(ZONES)
      let atMs = START
      const fixes = made.flatMap(([lat, ms, isLock, times]) =>
        Array.from({ length: times }, () => {
          atMs += ms
          return {
            device: isLock ? LOCK : SCREEN,
            fix: { atMs, latE7: Math.round(lat * 1e7), longE7: 50_000 },
          }
        }),
      )
      const whole = new RoundFinder(roundZones)
      for (const { device, fix } of fixes) whole.take(device, fix)
      let part = new RoundFinder(roundZones)
      const ended: Round[] = []
      for (const { device, fix } of fixes) {
        part.take(device, fix)
        if (!isStopped(fix.atMs)) continue
        ended.push(...part.takeEnded())
        // by the same program
        part = new RoundFinder(roundZones, JSON.parse(JSON.stringify(part.state)) as RoundState)
      }
      assert.deepEqual([...ended, ...part.takeEnded()], whole.takeEnded())
      assert.deepEqual(part.roundAt(atMs), whole.roundAt(atMs))
    }),
    { numRuns: 300 },
  )
})

/** Most of the time a cart stands, and its receiver wanders; it drives between places, or along the edge of one. */
const wandering = fc.array(
  fc.record({
    lat: spots,
    ms: fc.constantFrom(200, 1000, 5000, 5000, 20_000, MINUTE_MS, HOUR_MS, MAX_FIX_GAP_MS + 1),
    isLock: fc.constantFrom(true, true, true, false),
    times: fc.nat({ max: 12 }),
    /** Each fix from the one before, in 0.1 m to the north and to the east. */
    drift: fc.tuple(fc.integer({ min: -150, max: 150 }), fc.integer({ min: -150, max: 150 })),
    /** Kind of its fourth fix. */
    odd: fc.constantFrom('none', 'none', 'none', 'no place', '30 m away'),
  }),
  { maxLength: 60, size: 'max' },
)

test('stored columns of a device yield the same result as single fixes', () => {
  let [unchanged, all] = [0, 0]
  fc.assert(
    fc.property(wandering, (legs) => {
      let atMs = START
      const fixes = legs.flatMap(({ lat, ms, isLock, times, drift: [north, east], odd }) =>
        Array.from({ length: times }, (_, i) => {
          atMs += ms
          // 0.1 m are nine of these
          const place = { latE7: Math.round(lat * 1e7) + i * north * 9, longE7: 50_000 + i * east * 9 }
          if (i === 3 && odd === '30 m away') place.longE7 += 2700
          const isNoPlace = i === 3 && odd === 'no place'
          return { device: isLock ? LOCK : SCREEN, fix: { atMs, ...(isNoPlace ? NO_PLACE : place) } }
        }),
      )
      const [one, columns] = [0, 1].map(() => new RoundFinder(roundZonesOf(ZONES)))
      assert.ok(one !== undefined && columns !== undefined)
      const take = (finder: RoundFinder, { device, fix }: (typeof fixes)[number]) => {
        if (fix.latE7 !== 0 || fix.longE7 !== 0) finder.take(device, fix)
      }
      for (const each of fixes) take(one, each)
      for (let at = 0; at < fixes.length; ) {
        const first = fixes[at]
        assert.ok(first !== undefined)
        // while no other device reports
        const own = fixes.slice(at).filter(({ device }) => device === first.device)
        const other = fixes.find(({ device }, i) => i > at && device !== first.device)
        const untilMs = other?.fix.atMs ?? Number.POSITIVE_INFINITY
        const next = columns.takeUnchanged(first.device, columnsOf(own), 0, untilMs)
        if (next === 0) take(columns, first)
        unchanged += next
        at += Math.max(1, next)
      }
      all += fixes.length
      assert.deepEqual(columns.state, one.state)
      assert.deepEqual(columns.takeEnded(), one.takeEnded())
      assert.deepEqual(columns.roundAt(atMs), one.roundAt(atMs))
    }),
    { numRuns: 600 },
  )
  assert.ok(unchanged > all / 4, `only ${unchanged} of ${all} in columns`)
})

test('a cart at 0,0 has no position, even where a course lies there', () => {
  const finder = new RoundFinder(roundZonesOf([strip('barn', 'parking', null, -0.001, 0.001)]))
  // 11 m to the east
  const fixes = track([0, 5]).map(({ atMs }, i) => ({ atMs, latE7: 0, longE7: i === 9 ? 0 : 1000 }))
  for (const fix of fixes.slice(0, 2)) finder.take(LOCK, fix)
  const columns = columnsOf(fixes.map((fix) => ({ fix })))
  assert.equal(finder.takeUnchanged(LOCK, columns, 2, Number.POSITIVE_INFINITY), 9)
  assert.equal(finder.takeUnchanged(LOCK, columns, 10, Number.POSITIVE_INFINITY), fixes.length)
})

const NO_PLACE = { latE7: 0, longE7: 0 }

function columnsOf(fixes: readonly { fix: Fix }[]) {
  return {
    atMs: Float64Array.from(fixes, ({ fix }) => fix.atMs),
    latE7: Int32Array.from(fixes, ({ fix }) => fix.latE7),
    longE7: Int32Array.from(fixes, ({ fix }) => fix.longE7),
  }
}

test('rounds of a cart are in order and do not overlap, and one hole is played at a time', () => {
  fc.assert(
    fc.property(steps, (made) => {
      let atMs = START
      const fixes = made.flatMap(([lat, ms, , times]) =>
        Array.from({ length: times }, () => {
          atMs += ms
          return { atMs, latE7: Math.round(lat * 1e7), longE7: 50_000 }
        }),
      )
      let beforeMs = 0
      for (const { startedMs, endedMs, holes, distanceM } of find(fixes)) {
        assert.ok(startedMs >= beforeMs && distanceM >= 0 && holes.length > 0)
        beforeMs = endedMs ?? Number.POSITIVE_INFINITY
        assert.ok(endedMs === null || (endedMs >= startedMs && endedMs - startedMs <= LONGEST_MS))
        assert.ok(holes.filter(({ leftMs }) => leftMs === null).length <= (endedMs === null ? 1 : 0))
        for (const [i, { enteredMs, leftMs }] of holes.entries()) {
          assert.ok(enteredMs >= (holes[i - 1]?.enteredMs ?? startedMs))
          assert.ok(leftMs === null || (leftMs >= enteredMs && leftMs <= beforeMs))
        }
      }
    }),
    { numRuns: 300 },
  )
})
