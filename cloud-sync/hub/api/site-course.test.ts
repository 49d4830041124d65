import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { DATABASE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'

const [PGLITE] = DATABASE_KINDS
const HOLE = {
  type: 'Feature',
  id: 'way/7',
  geometry: {
    type: 'LineString',
    coordinates: [
      [-81.6, 28.4],
      [-81.59, 28.4],
    ],
  },
  properties: { golf: 'hole', ref: '7' },
}
const packed = (value: unknown) => gzipSync(JSON.stringify(value)).toString('base64')

let hub: TestHub
let people: People
let site: SiteClient
let seq = 0

before(async () => {
  assert.ok(PGLITE !== undefined)
  hub = await openHub(PGLITE)
  people = new People(hub)
  site = await hub.site()
})
after(() => hub.stop())

const tell = (body: unknown) =>
  site.push(site.part('entities', rowsContent([{ seq: ++seq, table: 'course', key: 'site', body }])))
const course = async () => (await people.request('GET', `/sites/${site.siteId}/course`)).body

test('the drawing of a site is that of its gateway, and none before it has sent any', async () => {
  const none = await course()
  assert.deepEqual([none.version, none.features, none.photo], [0, [], null])
  await tell({ version: 3, attribution: 'Golf Ltd', sent: packed([HOLE]), updated_at_ms: 1 })
  const { counts, ...shown } = await course()
  assert.deepEqual(shown, {
    ...{ type: 'FeatureCollection', version: 3, attribution: 'Golf Ltd', photo: null },
    features: [HOLE],
  })
  assert.deepEqual([counts.holes, counts.greens], [1, 0])
})

for (const [what, body] of Object.entries({
  'one that is too large to be sent': { version: 4, attribution: null, sent: null },
  'text for a drawing': { version: 4, attribution: null, sent: 'x' },
  'a drawing that is not packed': { version: 4, attribution: null, sent: JSON.stringify([HOLE]) },
  'features that are none': { version: 4, attribution: null, sent: packed([{ ...HOLE, geometry: 3 }]) },
  'a drawing that unpacks without end': {
    version: 4,
    attribution: null,
    sent: packed('x'.repeat(20_000_000)),
  },
  'no version': { attribution: null, sent: packed([HOLE]) },
  'a gone row': null,
})) {
  test(`a site that sends ${what} shows an empty drawing`, async () => {
    await tell({ version: 3, attribution: null, sent: packed([HOLE]), updated_at_ms: 1 })
    assert.equal((await course()).features.length, 1)
    await tell(body)
    assert.deepEqual((await course()).features, [])
  })
}

test('a user without the site, and a site that is not there', async () => {
  assert.equal((await people.request('GET', '/sites/nowhere/course')).status, 404)
})
