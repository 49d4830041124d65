import assert from 'node:assert/strict'
import { test } from 'node:test'
import { box, collection } from '#testing/course/features.ts'
import { pluck, scene } from '#testing/scene.ts'

const { g } = scene({ groups: [1] })
const RING = box(8, 50, 8.001, 50.001)
const POLYGON = { type: 'Polygon', coordinates: [RING] }
const multiPolygon = (...rings: unknown[]) => ({ type: 'MultiPolygon', coordinates: rings.map((ring) => [ring]) })
const feature = (properties: unknown, geometry: object = POLYGON) => ({ type: 'Feature', properties, geometry })
const NAMED = { name: 'Green', type: 'alert' }
const GREEN = [['Green', 'alert']]
const ZONE_1 = [['Zone 1', 'alert']]

const FORMS: [string, unknown, string[][], string[]][] = [
  ['no type', collection(feature({ name: 'Green' })), GREEN, ['filled_in']],
  ['no name', collection(feature(NAMED), feature({ type: 'slow' })), [...GREEN, ['Zone 2', 'slow']], ['filled_in']],
  ['no properties', collection(feature(null)), ZONE_1, ['filled_in', 'filled_in']],
  ['empty properties', collection(feature({})), ZONE_1, ['filled_in', 'filled_in']],
  ['a MultiPolygon of one', collection(feature(NAMED, multiPolygon(RING))), GREEN, ['unwrapped']],
  ['a bare Feature', feature(NAMED), GREEN, ['unwrapped']],
  ['a bare array', [feature(NAMED)], GREEN, ['unwrapped']],
  ['geofences: an array', { geofences: [feature(NAMED)] }, GREEN, ['unwrapped']],
  ['geofences: a collection', { geofences: collection(feature(NAMED)) }, GREEN, ['unwrapped']],
  ['a whole collection', collection(feature(NAMED)), GREEN, []],
]

for (const [path, headers] of [
  ['/groups/1/geofences', {}],
  ['/geofences/1', {}],
  ['/zones', { 'if-match': '*' }],
] as const) {
  for (const [what, body, zones, codes] of FORMS)
    test(`PUT ${path}: ${what} is accepted by its meaning, with a warning in the response`, async () => {
      const answer = await g.put(path, body, { headers })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      assert.deepEqual(pluck(answer.body.warnings ?? [], 'code'), codes)
      const { features } = (await g.get(path)).body
      assert.deepEqual(
        features.map(({ properties }: { properties: Record<string, string> }) => [properties.name, properties.type]),
        zones,
      )
      await g.put(path, collection(), { headers })
    })

  test(`PUT ${path}: a MultiPolygon of two, foreign properties and a foreign type are rejected`, async () => {
    for (const wrong of [
      collection(feature(NAMED, multiPolygon(RING, RING))),
      collection(feature('x')),
      collection(feature({ name: 'Green', type: 'pond' })),
      { geofences: 7 },
      [7],
    ])
      assert.equal((await g.put(path, wrong, { headers })).status, 400, JSON.stringify(wrong))
  })
}
