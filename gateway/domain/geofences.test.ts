import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { atOnce } from '#shared/budgets/in-turns.ts'
import { fieldPath, InvalidRequestError } from '#shared/errors.ts'
import { compactZonesSchema, geofencesSchema, newGeofencesSchema } from '#shared/wire/geofences.ts'
import { toGeofencesJson } from '#shared/wire/zones-json.ts'
import { COMPACT_BYTES_MAX, compactZones } from '#shared/zones/compact.ts'
import { readZones } from './geofences.ts'

const SQUARE = [
  [-81.58, 28.41],
  [-81.57, 28.41],
  [-81.57, 28.42],
  [-81.58, 28.42],
]
const CLOSED_SQUARE = [...SQUARE, SQUARE[0]]

function polygon(points: unknown = CLOSED_SQUARE, properties: object = {}, more: object = {}) {
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [points] },
    properties: { name: 'Green 7', type: 'stop', ...properties },
    ...more,
  }
}

function circle(coordinates: unknown = [-81.58, 28.41], properties: object = {}, more: object = {}) {
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates },
    properties: { name: 'Barn', type: 'parking', radius_m: 25, ...properties },
    ...more,
  }
}

function collection(...features: unknown[]) {
  return { type: 'FeatureCollection', features }
}

function read(body: unknown) {
  return atOnce(readZones(newGeofencesSchema.parse(body)))
}

/** Returns code and position of every error in a body. */
function faultsOf(body: unknown): [string, string][] {
  const parsed = newGeofencesSchema.safeParse(body)
  if (!parsed.success) {
    return parsed.error.issues.map((issue) => [
      issue.code === 'custom' ? String(issue.params?.code) : 'invalid_field',
      fieldPath(issue.path),
    ])
  }
  try {
    atOnce(readZones(parsed.data))
    return []
  } catch (error) {
    assert.ok(error instanceof InvalidRequestError)
    const faults = (error.errors ?? []).map((one): [string, string] => [one.code, 'name' in one ? one.name : ''])
    assert.equal(error.code, faults[0]?.[0])
    return faults
  }
}

/** Returns an open ring of `count` points on a circle. */
function ring(count: number, center: [number, number] = [-81.58, 28.41]): [number, number][] {
  return Array.from({ length: count }, (_, i) => {
    const angle = (i / count) * 2 * Math.PI
    return [center[0] + 0.001 * Math.cos(angle), center[1] + 0.001 * Math.sin(angle)]
  })
}

test('a polygon and a circle are read, with defaults for omitted fields', () => {
  assert.deepEqual(read(collection(polygon([...SQUARE.slice(0, 3), SQUARE[0]]), circle())), [
    {
      id: 'g1',
      name: 'Green 7',
      type: 'stop',
      isEnabled: true,
      isVisible: false,
      message: null,
      maxSpeedKmh: null,
      hole: null,
      shape: {
        kind: 'polygon',
        ring: [
          { latE7: 284100000, longE7: -815800000 },
          { latE7: 284100000, longE7: -815700000 },
          { latE7: 284200000, longE7: -815700000 },
        ],
      },
    },
    {
      id: 'g2',
      name: 'Barn',
      type: 'parking',
      isEnabled: true,
      isVisible: false,
      message: null,
      maxSpeedKmh: null,
      hole: null,
      shape: { kind: 'circle', center: { latE7: 284100000, longE7: -815800000 }, radiusM: 25 },
    },
  ])
})

test('an empty set of zones is valid', () => {
  assert.deepEqual(read(collection()), [])
})

const FULL = {
  enabled: false,
  visible: true,
  message: 'No carts',
  max_speed_kmh: 8.5,
  hole: 7,
}

test('zones sent in full are returned unchanged, also after a second round trip', () => {
  const sent = collection(polygon(CLOSED_SQUARE, FULL, { id: 'a' }), circle([1.2345678, -2], FULL, { id: 'b' }))
  const answered = geofencesSchema.parse(toGeofencesJson(read(sent)))
  assert.deepEqual(answered, JSON.parse(JSON.stringify(sent)))
  assert.deepEqual(toGeofencesJson(read(answered)), answered)
})

test('members of GeoJSON tools are ignored and not kept', () => {
  const plain = collection(polygon(), circle())
  const decorated = {
    ...collection(
      { ...polygon(CLOSED_SQUARE, { fill: '#f00', 'stroke-width': 2 }), bbox: [0, 0, 1, 1], style: {} },
      circle([-81.58, 28.41, 33.5], { 'marker-color': '#0f0', id: 5 }),
    ),
    bbox: [1, 2, 3, 4],
    crs: { type: 'name', properties: { name: 'urn:ogc:def:crs:OGC:1.3:CRS84' } },
    name: 'zones',
    group_id: 4,
    version: 7,
  }
  assert.deepEqual(toGeofencesJson(read(decorated)), toGeofencesJson(read(plain)))
})

test('null counts as absent, because editors write it for fields of other features', () => {
  const nulls = {
    enabled: null,
    visible: null,
    radius_m: null,
    message: null,
    max_speed_kmh: null,
    hole: null,
  }
  assert.deepEqual(read(collection(polygon(CLOSED_SQUARE, nulls, { id: null }))), read(collection(polygon())))
})

test('an open ring is closed, a repeated point dropped', () => {
  const repeated = [SQUARE[0], SQUARE[0], ...SQUARE.slice(1), SQUARE[3], SQUARE[0]]
  const expected = read(collection(polygon()))
  assert.deepEqual(read(collection(polygon(SQUARE))), expected)
  assert.deepEqual(read(collection(polygon(repeated))), expected)
})

for (const [what, ids, expected] of [
  ['none', [undefined, undefined], ['g1', 'g2']],
  ['some of them the made up ones', ['g2', undefined, 'g1', undefined, undefined], ['g2', 'g3', 'g1', 'g4', 'g5']],
  ['numbers', [7, 0, -1.5], ['7', '0', '-1.5']],
  ['names every object has', ['__proto__', 'constructor'], ['__proto__', 'constructor']],
] as [string, (string | number | undefined)[], string[]][]) {
  test(`ids: ${what}`, () => {
    const zones = read(collection(...ids.map((id) => circle(undefined, {}, id === undefined ? {} : { id }))))
    assert.deepEqual(
      zones.map(({ id }) => id),
      expected,
    )
  })
}

const GEOMETRY = 'features[0].geometry'
const BOW_TIE = [SQUARE[0], SQUARE[2], SQUARE[1], SQUARE[3]]
for (const [what, body, ...faults] of [
  ['no object', [], ['invalid_field', '']],
  ['features that are no list', { type: 'FeatureCollection', features: {} }, ['invalid_field', 'features']],
  ['a feature that is none', collection(5), ['invalid_field', 'features[0]']],
  ['no geometry', collection({ ...circle(), geometry: null }), ['invalid_field', GEOMETRY]],
  ['properties that are none', collection({ ...circle(), properties: 5 }), ['invalid_field', 'features[0].properties']],
  ['an empty id', collection(circle(undefined, {}, { id: '' })), ['invalid_field', 'features[0].id']],
  [
    'an id of 65 letters',
    collection(circle(undefined, {}, { id: 'x'.repeat(65) })),
    ['invalid_field', 'features[0].id'],
  ],
  ['a blank name', collection(circle(undefined, { name: ' ' })), ['invalid_field', 'features[0].properties.name']],
  [
    'an unknown type',
    collection(circle(undefined, { type: 'lake' })),
    ['invalid_field', 'features[0].properties.type'],
  ],
  [
    'enabled as text',
    collection(circle(undefined, { enabled: 'yes' })),
    ['invalid_field', 'features[0].properties.enabled'],
  ],
  [
    'a speed of 0',
    collection(circle(undefined, { max_speed_kmh: 0 })),
    ['invalid_field', 'features[0].properties.max_speed_kmh'],
  ],
  ['half a hole', collection(circle(undefined, { hole: 1.5 })), ['invalid_field', 'features[0].properties.hole']],
  [
    '201 letters to show',
    collection(circle(undefined, { message: 'x'.repeat(201) })),
    ['invalid_field', 'features[0].properties.message'],
  ],
  [
    'a radius under a metre',
    collection(circle(undefined, { radius_m: 0.9 })),
    ['invalid_field', 'features[0].properties.radius_m'],
  ],
  [
    'a radius over 5 km',
    collection(circle(undefined, { radius_m: 5000.1 })),
    ['invalid_field', 'features[0].properties.radius_m'],
  ],
  [
    'a point without a radius',
    collection(circle(undefined, { radius_m: null })),
    ['missing_field', 'features[0].properties.radius_m'],
  ],
  ...['MultiPolygon', 'LineString', 'MultiPoint', 'GeometryCollection', 'Circle'].map((type) => [
    `a ${type}`,
    collection({ ...circle(), geometry: { type, coordinates: [], geometries: [] } }),
    ['unsupported_geometry', `${GEOMETRY}.type`],
  ]),
  ['a type that is no text', collection({ ...circle(), geometry: { type: 5 } }), ['invalid_field', `${GEOMETRY}.type`]],
  [
    'a polygon without rings',
    collection({ ...circle(), geometry: { type: 'Polygon', coordinates: [] } }),
    ['invalid_field', `${GEOMETRY}.coordinates`],
  ],
  [
    'a hole',
    collection({ ...polygon(), geometry: { type: 'Polygon', coordinates: [CLOSED_SQUARE, CLOSED_SQUARE] } }),
    ['holes_not_supported', `${GEOMETRY}.coordinates`],
  ],
  ['an empty ring', collection(polygon([])), ['too_few_points', `${GEOMETRY}.coordinates[0]`]],
  ['two points', collection(polygon(SQUARE.slice(0, 2))), ['too_few_points', `${GEOMETRY}.coordinates[0][0]`]],
  [
    'three points in one place of 1e-7 degree',
    collection(
      polygon([
        [1, 1],
        [1.00000004, 1],
        [1, 0.99999996],
      ]),
    ),
    ['too_few_points', `${GEOMETRY}.coordinates[0][0]`],
  ],
  [
    'points on one line',
    collection(
      polygon([
        [1, 1],
        [2, 2],
        [3, 3],
        [1, 1],
      ]),
    ),
    ['zero_area', `${GEOMETRY}.coordinates[0][0]`],
  ],
  ['a bow-tie', collection(polygon(BOW_TIE)), ['self_crossing', `${GEOMETRY}.coordinates[0][0]`]],
  [
    'a position of one number',
    collection(polygon([[1, 1], [2], [3, 5]])),
    ['invalid_field', `${GEOMETRY}.coordinates[0][1][1]`],
  ],
  ['a position of texts', collection(circle(['1', 2])), ['invalid_field', `${GEOMETRY}.coordinates[0]`]],
  ['null as a coordinate', collection(circle([1, null])), ['invalid_field', `${GEOMETRY}.coordinates[1]`]],
  [
    'a number too large for a double',
    collection(circle([1, JSON.parse('1e999')])),
    ['invalid_field', `${GEOMETRY}.coordinates[1]`],
  ],
  ['latitude 90.1', collection(circle([0, 90.1])), ['invalid_position', `${GEOMETRY}.coordinates`]],
  [
    'longitude -180.1',
    collection(
      polygon([
        [1, 1],
        [-180.1, 1],
        [-180.2, 2],
      ]),
    ),
    ['invalid_position', `${GEOMETRY}.coordinates[0][1]`],
  ],
  [
    'a ring over the antimeridian',
    collection(
      polygon([
        [179, 0],
        [-179, 0],
        [-179, 1],
      ]),
    ),
    ['crosses_antimeridian', `${GEOMETRY}.coordinates[0][0]`],
  ],
  [
    'a circle over the antimeridian',
    collection(circle([179.9999, 0])),
    ['crosses_antimeridian', `${GEOMETRY}.coordinates`],
  ],
  ['a circle over the pole', collection(circle([0, 89.9999])), ['crosses_antimeridian', `${GEOMETRY}.coordinates`]],
  [
    'an id twice',
    collection(circle(undefined, {}, { id: 'a' }), polygon(undefined, {}, { id: 'a' })),
    ['duplicate_id', 'features[1].id'],
  ],
  [
    'a number and a text that are one id',
    collection(circle(undefined, {}, { id: 1 }), circle(undefined, {}, { id: '1' })),
    ['duplicate_id', 'features[1].id'],
  ],
  ['101 zones', collection(...Array.from({ length: 101 }, () => circle())), ['too_many_zones', 'features']],
  ['201 points', collection(polygon(ring(201))), ['too_many_points', `${GEOMETRY}.coordinates[0]`]],
  [
    '201 points, closed',
    collection(polygon([...ring(201), ring(201)[0]])),
    ['too_many_points', `${GEOMETRY}.coordinates[0]`],
  ],
] as [string, unknown, ...[string, string][]][]) {
  test(`${what} is rejected: ${faults.join(' and ')}`, () => {
    assert.deepEqual(faultsOf(body), faults)
  })
}

test('every error is reported, with one position for each zone', () => {
  const swapped = ring(50, [28.41, -91.58])
  assert.deepEqual(faultsOf(collection(circle(), polygon(BOW_TIE), polygon(swapped), polygon([]), circle([181, 0]))), [
    ['self_crossing', 'features[1].geometry.coordinates[0][0]'],
    ['invalid_position', 'features[2].geometry.coordinates[0][0]'],
    ['too_few_points', 'features[3].geometry.coordinates[0]'],
    ['invalid_position', 'features[4].geometry.coordinates'],
  ])
})

test('a megabyte of nonsense yields few errors', () => {
  for (const body of [
    { type: 'FeatureCollection', features: Array.from({ length: 300_000 }, () => 0) },
    collection(polygon(Array.from({ length: 300_000 }, () => 'x'))),
    collection({
      ...polygon(),
      geometry: { type: 'Polygon', coordinates: Array.from({ length: 300_000 }, () => 0) },
    }),
    collection(circle(Array.from({ length: 300_000 }, () => 'x'))),
  ]) {
    assert.ok(faultsOf(body).length <= 2)
  }
})

test('100 zones, with 200 points and a closing one, are within the limits', () => {
  const zones = read(
    collection(...Array.from({ length: 100 }, () => polygon([...ring(200), ring(200)[0]], { type: 'hole' }))),
  )
  assert.deepEqual(
    [zones.length, zones.every(({ shape }) => shape.kind === 'polygon' && shape.ring.length === 200)],
    [100, true],
  )
})

test('teeboxes get enabled zones of the types they know, in integers', () => {
  const triangle = [
    [-81.58, 28.41],
    [-81.57, 28.41],
    [-81.5712345, 28.4298765],
    [-81.58, 28.41],
  ]
  const zones = read(
    collection(
      polygon(triangle, { type: 'stop' }, { id: 'g1' }),
      circle([-81.58, 28.41], { type: 'parking' }, { id: 'p1' }),
      polygon(triangle, { type: 'slow', max_speed_kmh: 8 }, { id: 'w1' }),
      polygon(triangle, { type: 'slow' }, { id: 'w2' }),
      circle([0, 0], { type: 'alert', max_speed_kmh: 8, message: 'x' }, { id: 'a1' }),
      circle([0, 0], { type: 'alert', enabled: false }),
      ...['message', 'boundary', 'hole'].map((type) => circle([0, 0], { type })),
    ),
  )
  const p = [284100000, -815800000, 284100000, -815700000, 284298765, -815712345]
  const compact = compactZones(7, zones)
  assert.deepEqual(compact, {
    v: 7,
    z: [
      { i: 'g1', t: 's', p },
      { i: 'p1', t: 'p', c: [284100000, -815800000], r: 25 },
      { i: 'w1', t: 'w', k: 8, p },
      { i: 'w2', t: 'w', p },
      { i: 'a1', t: 'a', c: [0, 0], r: 25 },
    ],
  })
  assert.deepEqual(compactZonesSchema.parse(compact), compact)
})

test('an empty set of zones is an empty list, and so is a set of disabled ones', () => {
  assert.equal(JSON.stringify(compactZones(3, [])), '{"v":3,"z":[]}')
  assert.deepEqual(compactZones(3, read(collection(circle(undefined, { enabled: false })))), { v: 3, z: [] })
})

test('zones with a compact form over 16 KiB are rejected; zones not sent to devices do not count', () => {
  const features = (letters: number, type: string) =>
    collection(
      ...[1, 2, 3].map((n) => polygon(ring(200), { type }, { id: n })),
      polygon(ring(80), { type }, { id: 4 }),
      // Ids are UTF-8 in the payload: two bytes each.
      ...Array.from({ length: 40 }, (_, n) =>
        circle([0, 0], { type }, { id: `${n + 10}${'é'.repeat(n < letters ? 20 : 0)}` }),
      ),
    )
  const sizes = Array.from({ length: 41 }, (_, letters) => {
    const zones = read(features(letters, 'hole')).map((zone) => ({ ...zone, type: 'stop' as const }))
    return Buffer.byteLength(JSON.stringify(compactZones(Number.MAX_SAFE_INTEGER, zones)))
  })
  const fitting = sizes.filter((size) => size <= COMPACT_BYTES_MAX).length
  assert.ok(fitting > 0 && fitting < sizes.length, `sizes from ${sizes[0]} to ${sizes.at(-1)}`)
  assert.deepEqual(faultsOf(features(fitting - 1, 'stop')), [])
  assert.deepEqual(faultsOf(features(fitting, 'stop')), [['too_large', 'features']])
  assert.deepEqual(faultsOf(features(40, 'boundary')), [])
})

test('any JSON is accepted or rejected with the position of each error, and never throws otherwise', () => {
  const number = fc.oneof(fc.integer({ min: -200, max: 200 }), fc.double())
  const position = fc.oneof(fc.array(number, { minLength: 1, maxLength: 3 }), fc.jsonValue())
  const geometry = fc.oneof(
    fc.record({
      type: fc.constant('Polygon'),
      coordinates: fc.array(fc.array(position, { maxLength: 6 }), { maxLength: 2 }),
    }),
    fc.record({ type: fc.constant('Point'), coordinates: position }),
    fc.jsonValue(),
  )
  const properties = fc.record(
    { name: fc.string(), type: fc.constantFrom('stop', 'slow', 'x'), radius_m: number, hole: number },
    { requiredKeys: [] },
  )
  const feature = fc.record(
    { type: fc.constant('Feature'), id: fc.oneof(fc.string(), fc.nat(3)), geometry, properties },
    { requiredKeys: ['type'] },
  )
  const body = fc.oneof(
    fc.array(feature, { maxLength: 4 }).map((features) => collection(...features)),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(body, (value) => {
      for (const [code] of faultsOf(JSON.parse(JSON.stringify(value)))) assert.match(code, /^[a-z_]+$/)
    }),
    { numRuns: 1000 },
  )
})
