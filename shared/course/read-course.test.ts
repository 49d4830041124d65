import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countsOf, holeNumberOf } from './course.ts'
import { CourseFault, type CourseFaultKind } from './course-fault.ts'
import { readCourse } from './read-course.ts'

const SQUARE = [
  [-81.6, 28.4],
  [-81.599, 28.4],
  [-81.599, 28.401],
  [-81.6, 28.4],
]
const LINE = [
  [-81.6, 28.4],
  [-81.596, 28.402],
]

function feature(properties: object, type = 'Polygon', coordinates: unknown = [SQUARE], more: object = {}) {
  return { type: 'Feature', ...more, properties, geometry: { type, coordinates } }
}

const collection = (...features: unknown[]) => ({ type: 'FeatureCollection', features })
const hole = (ref: string) => feature({ golf: 'hole', ref, par: '4' }, 'LineString', LINE)

function faultOf(value: unknown): CourseFault {
  try {
    readCourse(value)
  } catch (error) {
    if (error instanceof CourseFault) return error
    throw error
  }
  throw new Error('it was read')
}

test('OpenStreetMap features of a course are counted by their common names', () => {
  const { features } = readCourse(
    collection(
      hole('1'),
      hole('2'),
      feature({ golf: 'green' }),
      feature({ golf: 'fairway' }),
      feature({ golf: 'bunker', natural: 'sand' }),
      feature({ golf: 'tee' }),
      feature({ golf: 'rough' }),
      feature({ golf: 'lateral_water_hazard', natural: 'water' }),
      feature({ natural: 'water' }),
      feature({ natural: 'wood' }),
      feature({ building: 'yes' }),
      feature({ golf: 'driving_range' }),
      feature({ leisure: 'golf_course' }),
      feature({ golf: 'cartpath' }, 'LineString', LINE),
      feature({ highway: 'service' }, 'LineString', LINE),
    ),
  )
  assert.deepEqual(countsOf(features), {
    holes: 2,
    greens: 1,
    fairways: 1,
    tees: 1,
    bunkers: 1,
    roughs: 1,
    practice_areas: 1,
    water: 2,
    woods: 1,
    buildings: 1,
    paths: 2,
    outlines: 1,
  })
})

test('unused tags are dropped, and features that have only such tags; ids and positions stay', () => {
  const { features } = readCourse(
    collection(
      feature({ golf: 'green', '@id': 'way/12', operator: 'J. Doe', ref: 7 }, 'Polygon', [
        [
          [-81.600_000_04, 28.4, 12],
          [-81.599, 28.4],
          [-81.599, 28.401],
        ],
      ]),
      feature({ amenity: 'parking' }),
      feature({ building: 'no' }),
      { type: 'Feature', properties: null, geometry: null },
      {
        type: 'Feature',
        properties: { golf: 'pin' },
        geometry: { type: 'Point', coordinates: [-81.6, 28.4] },
      },
    ),
  )
  const ring = [
    [-81.6, 28.4],
    [-81.599, 28.4],
    [-81.599, 28.401],
    [-81.6, 28.4],
  ]
  const properties = { golf: 'green', ref: '7' }
  assert.deepEqual(features, [
    { type: 'Feature', id: 'way/12', geometry: { type: 'Polygon', coordinates: [ring] }, properties },
  ])
})

test('tags of the older export of Overpass are read from a separate member', () => {
  const { features } = readCourse(collection(feature({ type: 'way', id: 5, tags: { golf: 'bunker' } })))
  assert.deepEqual([features[0]?.properties, features[0]?.id], [{ golf: 'bunker' }, '5'])
})

test('the closed edge of an area becomes an area, an open one is dropped', () => {
  const { features } = readCourse(
    collection(
      feature({ golf: 'green' }, 'LineString', SQUARE),
      feature({ golf: 'bunker' }, 'LineString', LINE),
      feature({ waterway: 'stream' }, 'LineString', LINE),
      hole('1'),
      feature({ golf: 'fairway' }, 'MultiPolygon', [[SQUARE], [SQUARE]]),
    ),
  )
  assert.deepEqual(
    features.map(({ geometry }) => geometry.type),
    ['Polygon', 'LineString', 'LineString', 'MultiPolygon'],
  )
})

test('the number of a hole is its ref, or is taken from its name', () => {
  const numbers = [
    { ref: '7' },
    { ref: '07' },
    { ref: ' 18 ' },
    { name: 'Hole 3' },
    { ref: 'A', name: 'Loch 12' },
    {},
    { ref: '100' },
  ]
  assert.deepEqual(numbers.map(holeNumberOf), [7, 7, 18, 3, 12, null, null])
})

test('OpenStreetMap is credited if the file came from there', () => {
  const credit = (more: object, id?: string) =>
    readCourse({ ...collection({ ...feature({ golf: 'green' }), id }), ...more }).attribution
  assert.equal(credit({ generator: 'overpass-turbo' }), '© OpenStreetMap contributors')
  assert.equal(credit({}, 'way/12'), '© OpenStreetMap contributors')
  assert.equal(credit({ attribution: '  Golf Ltd ' }), 'Golf Ltd')
  assert.equal(credit({}, 'green-7'), null)
})

const OTHER_CRS = { crs: { type: 'name', properties: { name: 'urn:ogc:def:crs:EPSG::25832' } } }
const DEGREES_CRS = { crs: { type: 'name', properties: { name: 'urn:ogc:def:crs:OGC:1.3:CRS84' } } }

const FAULTS: [string, unknown, CourseFaultKind, RegExp][] = [
  ['a list', [], 'not_geojson', /not a GeoJSON/],
  ['one feature', feature({ golf: 'green' }), 'not_geojson', /FeatureCollection/],
  ['features that are none', collection(7), 'not_geojson', /features\[0\]/],
  ['nothing', collection(), 'nothing_known', /golf=green/],
  ['a shop', collection(feature({ shop: 'golf' })), 'nothing_known', /known/],
  [
    'metres',
    collection(
      feature({ golf: 'green' }, 'Polygon', [
        [
          [691_000, 5_334_000],
          [1, 2],
          [3, 4],
        ],
      ]),
    ),
    'not_degrees',
    /WGS 84/,
  ],
  ['another system of coordinates', { ...collection(hole('1')), ...OTHER_CRS }, 'not_degrees', /25832/],
  [
    'no coordinates',
    collection(feature({ golf: 'green' }, 'Polygon', null)),
    'broken_geometry',
    /features\[0\].geometry/,
  ],
  [
    'text for numbers',
    collection(
      feature({ golf: 'green' }, 'Polygon', [
        [
          ['1', '2'],
          [1, 2],
          [3, 4],
        ],
      ]),
    ),
    'broken_geometry',
    /two numbers/,
  ],
  ['a ring of two points', collection(feature({ golf: 'green' }, 'Polygon', [LINE])), 'broken_geometry', /3 points/],
  [
    'a geometry that is a number',
    collection({ type: 'Feature', properties: { golf: 'green' }, geometry: 3 }),
    'broken_geometry',
    /geometry/,
  ],
]

for (const [what, value, kind, words] of FAULTS) {
  test(`${what} is rejected as ${kind}`, () => {
    const fault = faultOf(value)
    assert.equal(fault.kind, kind)
    assert.match(fault.message, words)
  })
}

test('a file that names the only coordinate system of GeoJSON is read', () => {
  assert.equal(readCourse({ ...collection(hole('1')), ...DEGREES_CRS }).features.length, 1)
})

test('a thousand bunkers are read, a million points are rejected', () => {
  const bunkers = Array.from({ length: 1000 }, () => feature({ golf: 'bunker' }))
  assert.equal(countsOf(readCourse(collection(...bunkers)).features).bunkers, 1000)
  const long = feature(
    { golf: 'cartpath' },
    'LineString',
    Array.from({ length: 200_001 }, () => [1, 2]),
  )
  assert.equal(faultOf(collection(long)).kind, 'too_many_points')
  const many = Array.from({ length: 20_001 }, () => hole('1'))
  assert.equal(faultOf(collection(...many)).kind, 'too_many_features')
})

test('any JSON yields a course or an error, and never changes a prototype', () => {
  const names = fc.constantFrom(
    'type',
    'features',
    'geometry',
    'coordinates',
    'properties',
    'golf',
    '__proto__',
    'tags',
  )
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<unknown>(null, 'Feature', 'FeatureCollection', 'green', 'Polygon', 'LineString', 1, -200),
      fc.array(tie('json'), { maxLength: 4 }),
      fc.dictionary(names, tie('json'), { maxKeys: 6 }),
    ),
  }))
  fc.assert(
    fc.property(fc.array(json), (features) => {
      const text = JSON.stringify({ type: 'FeatureCollection', features })
      try {
        readCourse(JSON.parse(text))
      } catch (error) {
        assert.ok(error instanceof CourseFault)
      }
      assert.equal(Object.hasOwn(Object.prototype, 'golf'), false)
    }),
  )
})
