import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromE7 } from '#shared/geo.ts'
import { distanceM, distanceToRingM, isInRing, type Point, packRing } from '#shared/zones/geometry.ts'
import { faultOf } from '#shared/zones/ring.ts'
import type { SiteZone } from '#shared/zones/zone.ts'
import type { CourseFeature, CourseGeometry, Position } from './course.ts'
import { type Place, Plane } from './plane.ts'
import { proposeZones, type ZoneNames } from './propose-zones.ts'
import type { Tags } from './tags.ts'

const NAMES: ZoneNames = {
  course: 'Course',
  hole: (hole) => (hole === null ? 'Hole' : `Hole ${hole}`),
  green: (hole) => (hole === null ? 'Green' : `Green ${hole}`),
  fairway: (hole) => `Fairway ${hole}`,
  water: 'Water',
}
const plane = new Plane([-81.6, 28.4])

const at = ([xM, yM]: readonly [number, number]): Position => {
  const { latE7, longE7 } = plane.point({ xM, yM })
  return [fromE7(longE7), fromE7(latE7)]
}
const of = (properties: Tags, geometry: CourseGeometry): CourseFeature => ({
  type: 'Feature',
  properties,
  geometry,
})
const line = (properties: Tags, ...places: [number, number][]) =>
  of(properties, { type: 'LineString', coordinates: places.map(at) })
const area = (properties: Tags, ...places: [number, number][]) =>
  of(properties, { type: 'Polygon', coordinates: [[...places, ...places.slice(0, 1)].map(at)] })
const box = (properties: Tags, x: number, y: number, width: number, height: number) =>
  area(properties, [x, y], [x + width, y], [x + width, y + height], [x, y + height])
const hole = (ref: string, ...places: [number, number][]) => line({ golf: 'hole', ref }, ...places)

const propose = (...features: CourseFeature[]) => proposeZones({ features }, NAMES)
const find = (zones: readonly SiteZone[], id: string): SiteZone => {
  const zone = zones.find((one) => one.id === id)
  assert.ok(zone, `${id} is among ${zones.map((one) => one.id)}`)
  return zone
}
const ringOf = ({ shape }: SiteZone): readonly Point[] => (shape.kind === 'polygon' ? shape.ring : [])
const point = (xM: number, yM: number) => plane.point({ xM, yM })

test('a zone reaches 38 m to each side of the line of a hole, and is of that hole', () => {
  const zone = find(propose(hole('7', [0, 0], [200, 0], [350, 80])), 'hole-7')
  assert.deepEqual([zone.type, zone.hole, zone.name, zone.isEnabled], ['hole', 7, 'Hole 7', true])
  for (const offset of [-37, 37]) assert.ok(isInRing(packRing(ringOf(zone)), point(100, offset)), `${offset} m aside`)
  for (const offset of [-39, 39]) assert.ok(!isInRing(packRing(ringOf(zone)), point(100, offset)), `${offset} m aside`)
  assert.ok(isInRing(packRing(ringOf(zone)), point(-30, 0)), 'behind the tee')
})

test('a green is a circle around it, of the hole that ends there', () => {
  const zones = propose(
    hole('3', [0, 0], [300, 0]),
    hole('4', [300, 20], [0, 200]),
    box({ golf: 'green' }, 290, -10, 20, 20),
    box({ golf: 'green' }, 800, 800, 20, 20),
  )
  const { shape, type, hole: number, isEnabled } = find(zones, 'green-3')
  assert.deepEqual([type, number, isEnabled], ['alert', 3, true])
  assert.ok(shape.kind === 'circle')
  assert.ok(distanceM(shape.center, point(300, 0)) < 0.1)
  assert.equal(shape.radiusM, 14)
  assert.equal(find(zones, 'green').hole, null)
})

test('the outline of the course is its boundary; without one all that golf is played on, with room', () => {
  const inside = hole('1', [50, 50], [250, 50])
  const drawn = find(propose(box({ leisure: 'golf_course' }, 0, 0, 300, 100), inside), 'boundary')
  assert.deepEqual([drawn.type, ringOf(drawn).length], ['boundary', 4])
  const around = ringOf(find(propose(inside), 'boundary'))
  assert.ok(isInRing(packRing(around), point(50, 100)) && !isInRing(packRing(around), point(50, 120)))
})

test('water within the boundary alerts, a pond of the neighbours does not', () => {
  const zones = propose(
    box({ leisure: 'golf_course' }, 0, 0, 300, 300),
    hole('1', [50, 50], [250, 50]),
    box({ natural: 'water', name: 'Lake' }, 100, 100, 40, 40),
    box({ golf: 'water_hazard' }, 200, 200, 20, 20),
    box({ natural: 'water' }, 600, 600, 90, 90),
    box({ natural: 'water' }, 10, 10, 2, 2),
  )
  const water = zones.filter(({ id }) => id.startsWith('water'))
  assert.deepEqual(
    water.map(({ id, name, type }) => [id, name, type]),
    [
      ['water', 'Lake', 'alert'],
      ['water-2', 'Water', 'alert'],
    ],
  )
})

test('each hole has its fairway, switched off; one without a fairway has a strip along its line', () => {
  const zones = propose(
    hole('1', [0, 0], [300, 0]),
    hole('2', [300, 100], [150, -100]),
    hole('3', [0, 300], [140, 300]),
    box({ golf: 'fairway' }, 60, -20, 80, 40),
    box({ golf: 'fairway' }, 150, -20, 130, 40),
  )
  const fairways = zones.filter(({ id }) => id.startsWith('fairway'))
  assert.deepEqual(
    fairways.map(({ id, hole: number, isEnabled, type }) => [id, number, isEnabled, type]),
    [
      ['fairway-1', 1, false, 'alert'],
      ['fairway-1-2', 1, false, 'alert'],
      ['fairway-2', 2, false, 'alert'],
      ['fairway-3', 3, false, 'alert'],
    ],
  )
  assert.ok(isInRing(packRing(ringOf(find(zones, 'fairway-3'))), point(70, 319)))
})

test('a drawing that crosses itself becomes the line around it', () => {
  const bow = area({ natural: 'water' }, [0, 0], [100, 100], [100, 0], [0, 60])
  const zones = propose(box({ leisure: 'golf_course' }, -50, -50, 300, 300), bow)
  assert.equal(faultOf(ringOf(find(zones, 'water')).map((corner, i) => ({ ...corner, at: i }))), null)
})

test('devices are given no more zones than they take, however many ponds there are', () => {
  const ponds = Array.from({ length: 300 }, (_, i) =>
    box({ natural: 'water' }, (i % 20) * 40, Math.floor(i / 20) * 40, 20, 20),
  )
  const zones = propose(box({ leisure: 'golf_course' }, -50, -50, 2000, 2000), hole('1', [0, 0], [300, 0]), ...ponds)
  assert.equal(zones.filter(({ type }) => type !== 'hole' && type !== 'boundary').length, 90)
  assert.equal(find(zones, 'fairway-1').hole, 1)
})

test('rings of a hundred thousand corners, around and around, are zones of a few', () => {
  const ring = Array.from({ length: 100_000 }, (_, i): [number, number] => [
    1000 * Math.cos(i / 20_000),
    1000 * Math.sin(i / 20_000),
  ])
  const zones = propose(
    area({ leisure: 'golf_course' }, ...ring),
    area({ golf: 'green' }, ...ring),
    area({ natural: 'water' }, ...ring),
  )
  assert.deepEqual(
    zones.map(({ id }) => id),
    ['boundary', 'green', 'water'],
  )
  for (const zone of zones) assert.ok(ringOf(zone).length <= 150)
})

test('a course without holes has its boundary, greens and water, and no zone of a hole', () => {
  const zones = propose(
    box({ leisure: 'golf_course', name: 'Old Course' }, 0, 0, 900, 900),
    box({ golf: 'green' }, 300, 300, 20, 20),
    box({ golf: 'fairway' }, 100, 100, 30, 200),
    box({ natural: 'water' }, 500, 500, 40, 40),
  )
  assert.deepEqual(zones.map(({ type, hole }) => [type, hole ?? null]).sort(), [
    ['alert', null],
    ['alert', null],
    ['boundary', null],
  ])
})

test('without anything of golf there is nothing to propose', () => {
  assert.deepEqual(propose(box({ natural: 'water' }, 0, 0, 20, 20)), [])
})

test('whatever bends a hole has, its zone is a ring with the whole line in it', () => {
  const place = fc.tuple(fc.integer({ min: -300, max: 300 }), fc.integer({ min: -300, max: 300 }))
  fc.assert(
    fc.property(fc.array(place, { minLength: 2, maxLength: 9 }), (places) => {
      const zone = propose(hole('1', ...places)).find(({ id }) => id === 'hole-1')
      assert.ok(zone)
      const ring = ringOf(zone)
      assert.equal(faultOf(ring.map((corner, i) => ({ ...corner, at: i }))), null)
      assert.ok(ring.length <= 200)
      const packed = packRing(ring)
      for (const [xM, yM] of places) {
        const corner: Place = { xM, yM }
        const here = plane.point(corner)
        assert.ok(isInRing(packed, here) || distanceToRingM(packed, here) < 0.1)
      }
    }),
  )
})

// courses of earlier versions may reach as far as they like
const WIDE: [string, () => CourseFeature[]][] = [
  [
    'holes from pole to pole',
    () =>
      Array.from({ length: 30 }, (_, i) =>
        of(
          { golf: 'hole', ref: String(i + 1) },
          {
            type: 'LineString',
            coordinates: [
              [-179, -80],
              [179, 80],
            ],
          },
        ),
      ),
  ],
  [
    'holes and fairways of thousands of bends, all in one place',
    () => [
      ...Array.from({ length: 99 }, (_, i) => hole(String(i + 1), ...bends(500, i))),
      ...Array.from({ length: 60 }, (_, i) => area({ golf: 'fairway' }, ...comb(2500, i))),
    ],
  ],
  [
    'twenty thousand fairways, all in one place',
    () => [
      ...Array.from({ length: 99 }, (_, i) => hole(String(i + 1), [0, i], [1900, i])),
      ...Array.from({ length: 20_000 }, (_, i) => box({ golf: 'fairway' }, -1, -1, 2000 + i / 100, 200)),
    ],
  ],
  [
    'ponds of thousands of corners beside an outline of thousands',
    () => [
      area({ leisure: 'golf_course' }, ...comb(20_000, 0)),
      ...Array.from({ length: 900 }, (_, i) =>
        area({ natural: 'water' }, ...comb(200, i).map(([x, y]): [number, number] => [x, y + 5000])),
      ),
    ],
  ],
]

function bends(count: number, seed: number): [number, number][] {
  return Array.from({ length: count }, (_, i) => [(i % 2) * 3 + seed / 10, i * 3])
}

/** A ring whose edges go all the way up and down. */
function comb(count: number, seed: number): [number, number][] {
  return Array.from({ length: count }, (_, i) => [i / 10, i === count - 1 ? -1000 : (i % 2) * 900 + seed])
}

for (const [what, featuresOf] of WIDE) {
  test(`${what}: proposing takes seconds at most`, () => {
    const features = featuresOf()
    const startedAtMs = performance.now()
    propose(...features)
    const tookMs = performance.now() - startedAtMs
    assert.ok(tookMs < 10_000, `${tookMs} ms`)
  })
}
