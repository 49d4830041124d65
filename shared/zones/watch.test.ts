import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { scaleAt } from './geometry.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch } from './watch.ts'
import { EXIT_BUFFER_M, watchedZones } from './watched-zones.ts'
import type { Zone } from './zone.ts'

const START_MS = Date.UTC(2026, 4, 1, 12)
const CART_MS = 25 / 3.6

/** The course lies at 60 degrees north, where a degree of longitude is half as long as one of latitude. */
const { latM, longM } = scaleAt(60e7)

function at(eastM: number, northM: number) {
  return { latE7: Math.round(60e7 + northM / latM), longE7: Math.round(10e7 + eastM / longM) }
}

function fix(atS: number, eastM: number, northM: number): Fix {
  return { atMs: Math.round(START_MS + atS * 1000), ...at(eastM, northM) }
}

function zone(id: string, shape: Zone['shape'], more: Partial<Zone> = {}): Zone {
  return {
    id,
    name: id,
    type: 'stop',
    isEnabled: true,
    isVisible: false,
    message: null,
    maxSpeedKmh: null,
    hole: null,
    shape,
    ...more,
  }
}

/** From west to east and from south to north, in metres. */
function box(id: string, [west, east]: [number, number], [south, north]: [number, number], more?: Partial<Zone>) {
  const ring = [at(west, south), at(east, south), at(east, north), at(west, north)]
  return zone(id, { kind: 'polygon', ring }, more)
}

function circle(id: string, eastM: number, northM: number, radiusM: number) {
  return zone(id, { kind: 'circle', center: at(eastM, northM), radiusM })
}

function follow(zones: readonly Zone[], track: readonly Fix[], from: WatchState = NO_ZONE_STATE) {
  const watched = watchedZones(zones)
  let state = from
  const events = track.flatMap((next) => {
    const seen = watch(state, watched, next)
    state = seen.state
    return seen.events
  })
  return { state, events }
}

function namesOf(zones: readonly Zone[], track: readonly Fix[], from?: WatchState): string[] {
  return follow(zones, track, from).events.map(({ kind, zoneId }) => `${kind} ${zoneId}`)
}

/** Drive along corners at a speed, reported at an interval, first after `delayS`; ends with a stop. */
function drive(corners: [number, number][], speedMs: number, everyS: number, delayS = 0): Fix[] {
  const fixes: Fix[] = []
  let nextS = delayS
  let elapsedS = 0
  for (const [i, [east, north]] of corners.slice(1).entries()) {
    const [fromEast, fromNorth] = corners[i] ?? [east, north]
    const legS = Math.hypot(east - fromEast, north - fromNorth) / speedMs
    for (; nextS <= elapsedS + legS; nextS += everyS) {
      const share = (nextS - elapsedS) / legS
      fixes.push(fix(nextS, fromEast + (east - fromEast) * share, fromNorth + (north - fromNorth) * share))
    }
    elapsedS += legS
  }
  return fixes
}

/** Fixes at these places, five seconds apart. */
function each5S(...places: [number, number][]): Fix[] {
  return places.map(([east, north], i) => fix(i * 5, east, north))
}

/** A receiver that drifts by metres within a minute: first-order Gauss-Markov, as `sigmaM` along each axis. */
function* wander(seed: number, sigmaM: number, everyS: number, count: number): Generator<[number, number]> {
  let bits = seed
  const uniform = () => {
    // mulberry32
    bits = (bits + 0x6d2b79f5) | 0
    let x = Math.imul(bits ^ (bits >>> 15), 1 | bits)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  const kept = Math.exp(-everyS / 50)
  let [east, north] = [sigmaM * gaussian(), sigmaM * gaussian()]
  for (let i = 0; i < count; i++) {
    yield [east, north]
    east = east * kept + sigmaM * Math.sqrt(1 - kept * kept) * gaussian()
    north = north * kept + sigmaM * Math.sqrt(1 - kept * kept) * gaussian()
  }
}

const strip = box('z', [-50, 50], [0, 100])

for (const everyS of [1, 5, 15]) {
  for (const depthM of [6, 20, 60, 110, 300]) {
    test(`a 25 km/h drive through a ${depthM} m deep zone, fixes every ${everyS} s, enters and leaves once`, () => {
      const zones = [box('z', [-50, 50], [0, depthM])]
      for (let phase = 0; phase < 20; phase++) {
        const delayS = (phase / 20) * everyS
        const track = drive(
          [
            [0, -400],
            [3, depthM + 500],
          ],
          CART_MS,
          everyS,
          delayS,
        )
        const { events } = follow(zones, track)
        assert.deepEqual(
          events.map(({ kind }) => kind),
          ['enter', 'exit'],
          `first fix after ${delayS} s`,
        )
        const [enter, exit] = events.map(({ atMs }) => (atMs - START_MS) / 1000)
        assert.ok(enter !== undefined && exit !== undefined)
        const enterLateS = enter - 400 / CART_MS
        const exitLateS = exit - (400 + depthM) / CART_MS
        const bufferS = EXIT_BUFFER_M / CART_MS
        assert.ok(enterLateS > -0.01 && enterLateS <= everyS + 0.01, `enters ${enterLateS} s late`)
        assert.ok(exitLateS > -0.01 && exitLateS <= everyS + bufferS + 0.01, `leaves ${exitLateS} s late`)
      }
    })
  }
}

test('a drive through a five-metre circle between two fixes enters and leaves where its path crosses', () => {
  const { events } = follow([circle('c', 0, 0, 5)], each5S([-60, 3], [-20, 3], [20, 3], [60, 3]))
  assert.deepEqual(
    events.map(({ kind, atMs }) => [kind, atMs - START_MS]),
    [
      ['enter', 7000],
      ['exit', 8000],
    ],
  )
  for (const [i, eastM] of [-4, 4].entries()) {
    const expected = at(eastM, 3)
    assert.ok(Math.abs((events[i]?.longE7 ?? 0) - expected.longE7) <= 2)
    assert.ok(Math.abs((events[i]?.latE7 ?? 0) - expected.latE7) <= 2)
  }
})

test('the event is at the first fix on the other side, reported with the second', () => {
  const track = each5S([0, -40], [0, -20], [0, 5], [0, 30], [0, 90], [0, 120], [0, 150])
  const { events } = follow([strip], track)
  assert.deepEqual(events, [
    { kind: 'enter', zoneId: 'z', ...track[2] },
    { kind: 'exit', zoneId: 'z', ...track[5] },
  ])
  assert.deepEqual(namesOf([strip], track.slice(0, 3)), [])
  assert.deepEqual(namesOf([strip], track.slice(0, 4)), ['enter z'])
  assert.deepEqual(namesOf([strip], track.slice(0, 6)), ['enter z'])
})

for (const sigmaM of [1.5, 2.1]) {
  test(`standing on the edge for eight hours with fixes off by ${sigmaM} m raises at most one enter`, () => {
    for (let seed = 0; seed < 4; seed++) {
      for (const [everyS, eastM, northM] of [
        [5, 0, 0],
        [1, 50, 50],
        [15, -50, 0],
      ] as const) {
        const places = [...wander(seed, sigmaM, everyS, (8 * 3600) / everyS)]
        const track = places.map(([east, north], i) => fix(i * everyS, eastM + east, northM + north))
        assert.ok(namesOf([strip], [fix(-60, -100, -100), ...track]).join() === 'enter z')
        assert.ok(['', 'enter z'].includes(namesOf([strip], track).join()))
      }
    }
  })
}

test('standing exactly on the edge is inside', () => {
  const onEdge = [fix(0, 0, -40), fix(5, 0, 0), fix(10, 0, 0), fix(15, 0, 0)]
  const edgeLatE7 = at(0, 0).latE7
  assert.deepEqual(namesOf([strip], onEdge), ['enter z'])
  const justOff = onEdge.map((each) => ({ ...each, latE7: Math.min(each.latE7, edgeLatE7 - 1) }))
  assert.deepEqual(namesOf([strip], justOff), [])
})

test('parking inside for hours enters once, and leaves once in the evening', () => {
  const parked = [...wander(7, 2.1, 30, 1200)].map(([east, north], i) => fix(100 + i * 30, east, 50 + north))
  const lastS = 100 + 1200 * 30
  const evening = [fix(lastS, 0, 80), fix(lastS + 5, 0, 120), fix(lastS + 10, 0, 150)]
  assert.deepEqual(namesOf([strip], [fix(0, 0, -80), fix(5, 0, -40), ...parked, ...evening]), ['enter z', 'exit z'])
})

for (const [what, beside] of [
  ['a zone two metres wide', box('z', [-50, 50], [0, 2])],
  ['a large zone', strip],
] as const) {
  test(`standing for eight hours anywhere next to ${what} raises at most one enter and one exit`, () => {
    for (let seed = 0; seed < 6; seed++) {
      for (const outM of [1, 3, 5, 7, 9]) {
        const places = [...wander(seed, 2.1, 5, 5760)]
        const parked = places.map(([east, north], i) => fix(60 + i * 5, east, north - outM))
        const kinds = namesOf([beside], [fix(0, 0, -60), fix(30, 0, -30), ...parked])
        assert.ok(['', 'enter z', 'enter z,exit z'].includes(kinds.join()), `${outM} m: ${kinds}`)
      }
    }
  })
}

test('a cart that returns to where it left is inside after two minutes', () => {
  const left = each5S([0, -60], [0, 20], [0, 20], [0, -15], [0, -15])
  const back = Array.from({ length: 30 }, (_, i) => fix(25 + i * 5, 0, 5))
  assert.deepEqual(namesOf([strip], [...left, ...back.slice(0, 24)]), ['enter z', 'exit z'])
  const { events } = follow([strip], [...left, ...back])
  assert.deepEqual(events.at(-1), { kind: 'enter', zoneId: 'z', ...back[0] })
})

test('a cart that returns from farther away, or farther in, is inside by the second fix', () => {
  const left = each5S([0, -60], [0, 20], [0, 20], [0, -15], [0, -15])
  for (const way of [
    [fix(25, 0, -46), fix(30, 0, 5), fix(35, 0, 5)],
    [fix(25, 0, 16), fix(30, 0, 17)],
  ]) {
    assert.deepEqual(namesOf([strip], [...left, ...way]), ['enter z', 'exit z', 'enter z'])
  }
})

test('leaving through a corner counts as leaving', () => {
  const track = drive(
    [
      [-200, -150],
      [-40, 10],
      [-60, -10],
      [-200, -150],
    ],
    3,
    5,
  )
  assert.deepEqual(namesOf([strip], track), ['enter z', 'exit z'])
})

test('a path that only touches a corner does not pass through, one a step further in does', () => {
  const corner = at(-50, 0)
  const fixOutside = (atS: number, stepsE7: number, inE7: number): Fix => ({
    atMs: START_MS + atS * 1000,
    latE7: corner.latE7 + stepsE7 + inE7,
    longE7: corner.longE7 - stepsE7 + inE7,
  })
  const along = (inE7: number) => [fixOutside(0, 9000, inE7), fixOutside(5, -9000, inE7), fixOutside(10, -12_000, inE7)]
  assert.deepEqual(namesOf([strip], along(0)), [])
  assert.deepEqual(namesOf([strip], along(1)), ['enter z', 'exit z'])
})

for (const [what, track] of [
  ['a fix inside and back', each5S([0, -30], [0, -30], [0, 20], [0, -30], [0, -30])],
  ['a fix beyond and back', each5S([0, -30], [0, -30], [0, 130], [0, -30], [0, -30])],
  ['a fix beyond and back beside it', each5S([0, -30], [0, -30], [0, 130], [0, -5], [0, -30], [0, -30])],
  ['a fix beyond and then inside and back', each5S([0, -30], [0, 130], [0, 50], [0, -30], [0, -30])],
  ['a fix outside and back in', each5S([0, 50], [0, 50], [0, -60], [0, 50], [0, 50])],
  ['the first fix inside, the others not', each5S([0, 50], [0, -60], [0, -60], [0, -60])],
  ['in and beside it by turns', each5S([0, -60], [0, 1], [0, -3], [0, 1], [0, -3], [0, -60], [0, -60])],
  ['passed in a gap of ten minutes', [fix(0, 0, -60), fix(600, 0, 160), fix(605, 0, 170)]],
  ['passed in a jump of a kilometre', each5S([0, -500], [0, 500], [0, 510], [0, 520])],
  ['fixes at the same time', [fix(0, 0, -60), fix(1, 0, 50), fix(1, 0, 51), fix(1, 0, 52)]],
] as [string, Fix[]][]) {
  test(`${what}: no event`, () => {
    assert.deepEqual(namesOf([strip], track), [])
  })
}

test('a cart that appears inside after a gap has entered', () => {
  const track = [fix(0, 0, -500), fix(7200, 0, 50), fix(7205, 0, 50)]
  assert.deepEqual(follow([strip], track).events, [{ kind: 'enter', zoneId: 'z', ...track[1] }])
})

test('a first fix inside raises no event, leaving from there raises an exit', () => {
  const track = each5S([0, 50], [0, 60], [0, 130], [0, 160])
  assert.deepEqual(namesOf([strip], track.slice(0, 2)), [])
  assert.deepEqual(namesOf([strip], track), ['exit z'])
})

test('late fixes change nothing', () => {
  const track = each5S([0, -60], [0, 20], [0, 40])
  const { state } = follow([strip], track)
  const late = [fix(10, 0, -90), fix(9, 0, -60), fix(3, 0, -60), fix(-9000, 0, 160)]
  const seen = follow([strip], late, state)
  assert.deepEqual(seen, { state, events: [] })
})

test('a reading without a position changes nothing', () => {
  const { state } = follow([strip], each5S([0, -60], [0, 20]))
  const nowhere = { atMs: START_MS + 7000, latE7: Number.NaN, longE7: Number.NaN }
  assert.deepEqual(follow([strip], [nowhere], state), { state, events: [] })
})

test('additional fields of a fix are not kept or reported', () => {
  const known = each5S([0, -60], [0, 20], [0, 30], [0, 160], [0, 170])
  const more = known.map((each) => ({ ...each, kind: 'x', zoneId: 'x', speedKmh: 5 }))
  assert.deepEqual(follow([strip], more), follow([strip], known))
})

test('a last fix with an impossible time does not block the following fixes', () => {
  const watched = watchedZones([strip])
  const yearMs = 365 * 86_400_000
  const { state } = follow([strip], [fix(0, 0, 50), fix(5, 0, 50), { ...fix(10, 0, 50), atMs: START_MS + yearMs }])
  const latestMs = START_MS + 300_000
  const next = watch(state, watched, fix(20, 0, 50), latestMs)
  assert.equal(next.state.last?.atMs, START_MS + 20_000)
  assert.deepEqual(next.events, [])
  assert.deepEqual(namesOf([strip], [fix(25, 0, 50), fix(30, 0, 160), fix(35, 0, 160)], next.state), ['exit z'])
})

test('fixes after one with an impossible time do not pass through a zone', () => {
  const state = follow([strip], [fix(0, 0, -50), { ...fix(5, 0, -60), atMs: START_MS + 1e9 }]).state
  const next = watch(state, watchedZones([strip]), fix(10, 0, 160), START_MS + 300_000)
  assert.deepEqual(namesOf([strip], [fix(15, 0, 170), fix(20, 0, 180)], next.state), [])
})

test('zones passed between two fixes are reported in the order they were passed', () => {
  const zones = [box('far', [-50, 50], [20, 25]), box('near', [-50, 50], [0, 5])]
  const track = each5S([0, -30], [0, 60], [0, 90])
  assert.deepEqual(namesOf(zones, track), ['enter near', 'exit near', 'enter far', 'exit far'])
})

test('overlapping zones are each entered and left', () => {
  const zones = [box('a', [-50, 50], [0, 100]), box('b', [-50, 50], [50, 150]), circle('c', 0, 75, 10)]
  const track = drive(
    [
      [0, -100],
      [0, 300],
    ],
    CART_MS,
    1,
  )
  assert.deepEqual(namesOf(zones, track), ['enter a', 'enter b', 'enter c', 'exit c', 'exit a', 'exit b'])
})

test('zones of every type are watched, disabled ones are not', () => {
  const types = ['alert', 'stop', 'slow', 'parking', 'message', 'boundary', 'hole'] as const
  const zones = types.map((type) => box(type, [-50, 50], [0, 100], { type }))
  const track = each5S([0, -60], [0, 20], [0, 40], [0, 160], [0, 170])
  assert.equal(namesOf(zones, track).length, 14)
  assert.deepEqual(
    namesOf(
      zones.map((each) => ({ ...each, isEnabled: false })),
      track,
    ),
    [],
  )
})

test('a new version keeps the state of unchanged zones', () => {
  const inside = follow([strip], each5S([0, -60], [0, 20], [0, 40])).state
  const leaving = [fix(20, 0, 160), fix(25, 0, 170)]
  const renamed = { ...strip, name: 'other', type: 'alert' as const }
  assert.deepEqual(namesOf([box('new', [500, 600], [0, 9]), renamed], leaving, inside), ['exit z'])

  const outside = follow([strip], each5S([0, -90], [0, -60])).state
  const entering = [fix(20, 0, 20), fix(25, 0, 40)]
  assert.deepEqual(namesOf([renamed, box('new', [500, 600], [0, 9])], entering, outside), ['enter z'])

  const halfway = follow([strip], each5S([0, -60], [0, 20])).state
  assert.deepEqual(namesOf([renamed, box('y', [500, 600], [0, 9])], entering, halfway), ['enter z'])
})

test('a zone that is new, reshaped, renamed or re-enabled starts without a state', () => {
  const inside = follow([strip], each5S([0, -60], [0, 20], [0, 40])).state
  const staying = [fix(20, 0, 40), fix(25, 0, 50)]
  const off = { ...strip, isEnabled: false }
  for (const zones of [[box('z', [-50, 50], [0, 101])], [{ ...strip, id: 'y' }], [off], []]) {
    assert.deepEqual(namesOf(zones, staying, inside), [])
  }
  const disabled = follow([off], [fix(20, 0, 160)], inside).state
  assert.deepEqual(disabled.zones, [])
  assert.deepEqual(namesOf([strip], [fix(25, 0, 40), fix(30, 0, 50)], disabled), [])
})

test('a zone id that every object inherits is an ordinary id', () => {
  const zones = ['__proto__', 'constructor'].map((id) => ({ ...strip, id }))
  const track = each5S([0, -60], [0, 20], [0, 40])
  assert.deepEqual(namesOf(zones, track), ['enter __proto__', 'enter constructor'])
})

const ZONES = [
  box('a', [-50, 50], [0, 100]),
  box('b', [-50, 50], [80, 150]),
  box('narrow', [-200, 200], [180, 184]),
  circle('c', 60, 60, 30),
  zone('u', {
    kind: 'polygon',
    ring: [at(-150, -50), at(-60, -50), at(-60, 90), at(-80, 90), at(-80, -30), at(-150, -30)],
  }),
]
/** Steps in time and place: mostly driving, at times a jump, a gap, or late. */
const track = fc
  .array(
    fc.record({
      seconds: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 20 }) }, fc.integer({ min: -300, max: 300 })),
      east: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: -40, max: 40 }) }, fc.integer({ min: -900, max: 900 })),
      north: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: -40, max: 40 }) }, fc.integer({ min: -900, max: 900 })),
    }),
    { maxLength: 120, size: 'max' },
  )
  .map((steps) => {
    let [seconds, east, north] = [0, 0, 0]
    return steps.map((step) => {
      seconds += step.seconds
      // drawn back to the zones
      east = 0.9 * east + step.east
      north = 0.9 * north + step.north
      return fix(seconds, east, north)
    })
  })

test('enter and exit alternate for each zone, in the order of their times', () => {
  let count = 0
  fc.assert(
    fc.property(track, (fixes) => {
      const { events, state } = follow(ZONES, fixes)
      for (const { id } of ZONES) {
        const own = events.filter(({ zoneId }) => zoneId === id)
        for (const [i, event] of own.entries()) {
          const before = own[i - 1]
          if (before === undefined) continue
          assert.notEqual(event.kind, before.kind)
          assert.ok(event.atMs >= before.atMs)
        }
        const last = own.at(-1)
        const isInside = state.zones.some((known) => known.id === id && known.isInside)
        if (last !== undefined) assert.equal(isInside, last.kind === 'enter')
        count += own.length
      }
      assert.ok(state.zones.length <= ZONES.length)
      assert.ok(JSON.stringify(state).length < 2000)
    }),
    { numRuns: 500 },
  )
  assert.ok(count > 500, `only ${count} events in all`)
})

test('a track processed in chunks, with the state saved as JSON, raises the same as in one pass', () => {
  fc.assert(
    fc.property(track, fc.array(fc.nat(119), { maxLength: 5 }), (fixes, cuts) => {
      const whole = follow(ZONES, fixes)
      let state = NO_ZONE_STATE
      const events = []
      const ends = [...cuts.sort((a, b) => a - b), fixes.length]
      for (const [i, end] of ends.entries()) {
        const piece = follow(ZONES, fixes.slice(ends[i - 1] ?? 0, end), JSON.parse(JSON.stringify(state)))
        state = piece.state
        events.push(...piece.events)
      }
      assert.deepEqual({ state, events }, whole)
    }),
    { numRuns: 200 },
  )
})

test('each zone is watched independently', () => {
  fc.assert(
    fc.property(track, (fixes) => {
      const { events } = follow(ZONES, fixes)
      for (const each of ZONES) {
        assert.deepEqual(
          follow([each], fixes).events,
          events.filter(({ zoneId }) => zoneId === each.id),
        )
      }
    }),
    { numRuns: 200 },
  )
})

test('a single stray fix of a parked cart raises no event', () => {
  const place = fc.tuple(fc.integer({ min: -250, max: 250 }), fc.integer({ min: -250, max: 250 }))
  fc.assert(
    fc.property(
      place,
      place,
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 2, max: 8 }),
      (home, away, everyS, i) => {
        const places = Array.from({ length: 9 }, () => home).with(i, away)
        const fixes = places.map(([east, north], n) => fix(n * everyS, east, north))
        assert.deepEqual(namesOf(ZONES, fixes), [])
      },
    ),
    { numRuns: 2000 },
  )
})
